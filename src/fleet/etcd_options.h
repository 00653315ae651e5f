#pragma once

#include "base/result.h"
#include "config/settings.h"
#include "fleet/etcd_client.h"

namespace kvasir::fleet {

// From the settings that begin with `etcd`, of which `etcd` is not empty. Reads the file of the password.
base::Result<EtcdOptions> etcd_options(const config::Settings& settings);

}  // namespace kvasir::fleet
