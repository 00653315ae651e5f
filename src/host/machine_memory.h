#pragma once

#include <cstdint>

#include "config/settings.h"

namespace kvasir::host {

// Bytes that this process may use: the machine's memory, or its container's limit if that is less.
std::int64_t machine_memory_bytes();

// Bytes that all models together may use: the setting, or a default for the device.
std::int64_t model_memory_bytes(const config::Settings& settings);

}  // namespace kvasir::host
