#pragma once

#include <cstddef>
#include <utility>

namespace kvasir::tensor {

// Owned, zeroed memory, aligned to 64 bytes. Large buffers have their own mapping with huge pages, which are
// faster to fill and to read. Move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mapped_(std::exchange(other.mapped_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // bytes of the mapping; 0: the memory is from the heap
};

}  // namespace kvasir::tensor
