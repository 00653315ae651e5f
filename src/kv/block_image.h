#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kv/block_hash.h"

namespace kvasir::kv {

// The layout of a model's blocks outside a device. Blocks may go from one device to another if both have the
// same form.
struct BlockForm {
  std::string name;           // type and shape of the numbers; empty: no block can leave or enter
  std::size_t num_bytes = 0;  // size of a block
  bool operator==(const BlockForm&) const = default;
};

// A full block that has left its device, in the canonical form: for each layer keys, then values, each as
// [kv_heads, 16 tokens, head_dim] numbers; after the int8 numbers of a head come its scales, [16 tokens,
// groups]. A latent layer has keys only.
struct BlockImage {
  std::string bytes;
  std::uint64_t checksum = 0;  // of the bytes and of the block's hash
};

// `hash` is the block's hash, so that the bytes of another block do not have the right checksum.
std::uint64_t checksum_of(const std::string& bytes, const BlockHash& hash);
inline BlockImage sealed(std::string bytes, const BlockHash& hash) {
  const std::uint64_t checksum = checksum_of(bytes, hash);
  return {std::move(bytes), checksum};
}
inline bool is_intact(const BlockImage& image, const BlockHash& hash) {
  return checksum_of(image.bytes, hash) == image.checksum;
}

// Consecutive blocks of a chain.
struct BlockImages {
  std::size_t first = 0;  // the first block's number in its chain
  std::vector<std::shared_ptr<const BlockImage>> images;

  std::size_t end() const { return first + images.size(); }
};

// Receives the blocks of a sequence as they are computed. Called on the engine's thread, in the order of the
// blocks. Must not wait.
class BlockOutlet {
 public:
  virtual ~BlockOutlet() = default;
  // Receives block number `index` of the sequence's chain.
  virtual void put(std::size_t index, BlockImage image) = 0;
};

}  // namespace kvasir::kv
