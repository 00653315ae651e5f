#include "model/decoder/kv_cache.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "ops/kv_cache.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

ops::KvLayer layer_shape(const ModelConfig& config, ops::KvType type) {
  ops::KvLayer layer;
  layer.type = type;
  if (config.is_latent()) {
    layer.num_kv_heads = 1;
    layer.head_dim = config.latent.kv_rank + config.rope.dim;
    layer.latent_dim = config.latent.kv_rank;
  } else {
    layer.num_kv_heads = config.num_kv_heads;
    layer.head_dim = config.head_dim;
  }
  return layer;
}

// Rounds up to whole cache lines, so that each layer's keys and its values start on a cache line.
std::int64_t line_aligned(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

base::Result<KvCache> KvCache::create(const ModelConfig& config, ops::KvType type, int num_blocks) {
  if (num_blocks < 1) return base::error(ErrorCode::invalid_argument, "a KV cache of {} blocks", num_blocks);
  const ops::KvLayer shape = layer_shape(config, type);
  // The product is checked for overflow: 2^12 layers * 2 * 2^31 blocks * 16 * 2^24 would exceed 2^63.
  std::int64_t part = 0;
  std::int64_t total = 0;
  if (__builtin_mul_overflow(shape.block_bytes(), num_blocks, &part) ||
      __builtin_mul_overflow(line_aligned(part), std::int64_t{shape.num_parts()} * config.num_layers, &total))
    return base::error(ErrorCode::too_large, "a KV cache of {} blocks", num_blocks);
  part = line_aligned(part);

  KvCache cache;
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(total), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return base::error(ErrorCode::too_large, "cannot reserve {} bytes for KV: {}", total,
                       std::strerror(errno));
  // Huge pages reduce page faults and TLB misses. If the system declines, pages are small and nothing else
  // changes.
  ::madvise(memory, static_cast<std::size_t>(total), MADV_HUGEPAGE);
  cache.memory_ = static_cast<std::byte*>(memory);
  cache.bytes_ = static_cast<std::size_t>(total);
  cache.num_blocks_ = num_blocks;
  for (int i = 0; i < config.num_layers; ++i) {
    ops::KvLayer& layer = cache.layers_.emplace_back(shape);
    layer.k = cache.memory_ + i * shape.num_parts() * part;
    if (shape.latent_dim == 0) layer.v = layer.k + part;
  }
  return cache;
}

std::int64_t KvCache::bytes_per_block(const ModelConfig& config, ops::KvType type) {
  const ops::KvLayer shape = layer_shape(config, type);
  return shape.block_bytes() * shape.num_parts() * config.num_layers;
}

KvCache::KvCache(KvCache&& other) noexcept {
  *this = std::move(other);
}

KvCache& KvCache::operator=(KvCache&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(num_blocks_, other.num_blocks_);
  std::swap(layers_, other.layers_);
  return *this;
}

KvCache::~KvCache() {
  if (memory_) ::munmap(memory_, bytes_);
}

void KvCache::copy_block(std::int32_t from, std::int32_t to) {
  CHECK(from >= 0 && from < num_blocks_ && to >= 0 && to < num_blocks_, "copy of block {} to {}, of {}", from,
        to, num_blocks_);
  for (const ops::KvLayer& layer : layers_) ops::copy_block(layer, from, to);
}

std::size_t KvCache::layer_bytes() const {
  return static_cast<std::size_t>(layers_.front().num_parts() * layers_.front().block_bytes());
}

std::size_t KvCache::image_bytes() const {
  return layers_.size() * layer_bytes();
}

std::string KvCache::form() const {
  const ops::KvLayer& layer = layers_.front();
  return fmt::format("{} {}x{}x{}x{}", ops::name(layer.type), layers_.size(), layer.num_parts(),
                     layer.num_kv_heads, layer.head_dim);
}

void KvCache::export_block(std::int32_t block, std::span<std::byte> out) const {
  CHECK(block >= 0 && block < num_blocks_ && out.size() == image_bytes(), "block {} as {} bytes", block,
        out.size());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    ops::export_block(layers_[i], block, out.data() + i * layer_bytes());
}

void KvCache::import_block(std::int32_t block, std::span<const std::byte> in) {
  CHECK(block >= 0 && block < num_blocks_ && in.size() == image_bytes(), "block {} of {} bytes", block,
        in.size());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    ops::import_block(layers_[i], block, in.data() + i * layer_bytes());
}

}  // namespace kvasir::model
