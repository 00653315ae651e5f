#include "base/random_bytes.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace kvasir::base {

namespace {

// The system gives up to 256 bytes in one call without interruption.
constexpr std::size_t kBufferBytes = 256;

class Buffer {
 public:
  void take(std::span<std::byte> out) {
    while (!out.empty()) {
      if (num_left_ == 0) refill();
      const std::size_t n = std::min(out.size(), num_left_);
      std::byte* const from = bytes_.data() + (kBufferBytes - num_left_);
      std::memcpy(out.data(), from, n);
      // Bytes that were handed out must not stay in memory.
      std::memset(from, 0, n);
      num_left_ -= n;
      out = out.subspan(n);
    }
  }

 private:
  void refill() {
    ssize_t n = -1;
    do n = ::getrandom(bytes_.data(), bytes_.size(), 0);
    while (n < 0 && errno == EINTR);
    // With weaker random bytes, ids and keys could be guessed.
    CHECK(n == static_cast<ssize_t>(bytes_.size()), "the system gives no random bytes: {}",
          std::strerror(errno));
    num_left_ = bytes_.size();
  }

  std::array<std::byte, kBufferBytes> bytes_{};
  std::size_t num_left_ = 0;
};

}  // namespace

void fill_random(std::span<std::byte> out) {
  thread_local Buffer buffer;
  buffer.take(out);
}

std::uint64_t random_uint64() {
  std::uint64_t value = 0;
  fill_random(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace kvasir::base
