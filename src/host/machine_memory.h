#pragma once

#include <cstdint>

#include "config/settings.h"

namespace kvasir::host {

// Bytes that this process may have: the machine's memory, or less where its container has a limit.
std::int64_t machine_memory_bytes();

// Bytes that all models together may take, as set or by the device.
std::int64_t model_memory_bytes(const config::Settings& settings);

}  // namespace kvasir::host
