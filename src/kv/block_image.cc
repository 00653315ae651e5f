#include "kv/block_image.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kvasir::kv {

std::uint64_t checksum_of(const std::string& bytes, const BlockHash& hash) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash.low ^ hash.high);
}

}  // namespace kvasir::kv
