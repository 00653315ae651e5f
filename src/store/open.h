#pragma once

#include <memory>

#include "base/result.h"
#include "config/settings.h"
#include "store/store.h"

namespace kvasir::store {

// The store that the settings name.
base::Result<std::unique_ptr<Store>> open_store(const config::Settings& settings);

}  // namespace kvasir::store
