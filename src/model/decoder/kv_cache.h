#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/arch/model_config.h"
#include "ops/types/kv_layer.h"

namespace kvasir::model {

// The physical KV of one model: `num_blocks` blocks of 16 tokens for every layer. Memory is reserved at once
// and committed by the system as blocks are first written. The classes in kv/ decide what each block holds.
// Owned by the engine thread; during a step the decoder writes it.
class KvCache {
 public:
  static base::Result<KvCache> create(const ModelConfig& config, ops::KvType type, int num_blocks);
  static std::int64_t bytes_per_block(const ModelConfig& config, ops::KvType type);

  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&& other) noexcept;
  ~KvCache();

  int num_blocks() const { return num_blocks_; }
  // Copies one block of every layer.
  void copy_block(std::int32_t from, std::int32_t to);
  // These copy one block of every layer out of the cache and into it, in the canonical form (kv::BlockImage).
  // Several threads may do so at the same time, with different blocks.
  void export_block(std::int32_t block, std::span<std::byte> out) const;  // [image_bytes]
  void import_block(std::int32_t block, std::span<const std::byte> in);   // [image_bytes]
  std::size_t image_bytes() const;
  // Caches with the same form can import each other's blocks.
  std::string form() const;
  const ops::KvLayer& layer(int index) const { return layers_[static_cast<std::size_t>(index)]; }

 private:
  KvCache() = default;

  std::size_t layer_bytes() const;  // of one block

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  int num_blocks_ = 0;
  std::vector<ops::KvLayer> layers_;
};

}  // namespace kvasir::model
