#include "host/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "model/decoder/device_decoder.h"

namespace kvasir::host {

std::int64_t machine_memory_bytes() {
  std::int64_t bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  // The limits of a container in cgroups of version 2 and 1. Without a limit the file has "max" or a huge
  // number.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream in(path);
    if (std::int64_t limit = 0; in >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

std::int64_t model_memory_bytes(const config::Settings& settings) {
  if (settings.model_memory_mb > 0) return std::int64_t{settings.model_memory_mb} << 20;
  if (settings.device == "cuda")
    if (const auto free = model::cuda_free_bytes(); free.ok()) return *free / 10 * 9;
  return machine_memory_bytes() / 5 * 4;
}

}  // namespace kvasir::host
