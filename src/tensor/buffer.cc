#include "tensor/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace kvasir::tensor {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

Buffer::Buffer(std::size_t size) : size_(size) {
  if (size == 0) return;
  if (size < 2 * kHugePage) {
    const std::size_t rounded = round_up(size, kAlignment);
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
    CHECK(data_ != nullptr, "out of memory: {} bytes", size);
    std::memset(data_, 0, rounded);
    return;
  }
  mapped_ = round_up(size, kHugePage);
  void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED, "out of memory: {} bytes", size);
  madvise(p, mapped_, MADV_HUGEPAGE);  // only advice: if it is refused, small pages also work
  data_ = static_cast<std::byte*>(p);
}

Buffer::~Buffer() {
  if (mapped_ != 0) {
    munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Buffer old(std::move(*this));
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
  }
  return *this;
}

}  // namespace kvasir::tensor
