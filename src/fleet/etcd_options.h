#pragma once

#include "base/result.h"
#include "config/settings.h"
#include "fleet/etcd_client.h"

namespace kvasir::fleet {

// Makes the options from the settings that begin with `etcd`. `etcd` itself must not be empty. Reads the
// password file.
base::Result<EtcdOptions> etcd_options(const config::Settings& settings);

}  // namespace kvasir::fleet
