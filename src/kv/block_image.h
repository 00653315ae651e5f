#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kv/block_hash.h"

namespace kvasir::kv {

// How a model's blocks look outside of a device. Blocks may go from one device to another if their forms are
// equal.
struct BlockForm {
  std::string name;           // of numbers and shape; empty: blocks neither leave nor enter this device
  std::size_t num_bytes = 0;  // of a block
  bool operator==(const BlockForm&) const = default;
};

// A full block that has left its device, in the canonical form: for each layer keys, then values, each as
// [kv_heads, 16 tokens, head_dim] numbers; after the int8 numbers of a head come its scales, [16 tokens,
// groups]. A latent layer has keys only.
struct BlockImage {
  std::string bytes;
  std::uint64_t checksum = 0;  // of the bytes and of the block's hash
};

// `hash` is that of the block: bytes of another block do not pass for its own.
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
  std::size_t first = 0;  // the number of the first one in its chain
  std::vector<std::shared_ptr<const BlockImage>> images;

  std::size_t end() const { return first + images.size(); }
};

// Who gets the blocks of a sequence as they are computed. Called on the engine's thread, in the order of the
// blocks; never waits.
class BlockOutlet {
 public:
  virtual ~BlockOutlet() = default;
  // Block number `index` of the sequence's chain.
  virtual void put(std::size_t index, BlockImage image) = 0;
};

}  // namespace kvasir::kv
