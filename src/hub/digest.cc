#include "hub/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kvasir::hub {

using base::ErrorCode;

namespace {

constexpr std::size_t kPieceBytes = 1024 * 1024;

}  // namespace

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) { CHECK(context != nullptr, "out of memory"); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1, "no SHA-256 in OpenSSL");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1, "SHA-256 failed");
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1, "SHA-256 failed");
  std::string text;
  for (unsigned int i = 0; i < size; i++) text += fmt::format("{:02x}", digest[i]);
  return text;
}

base::Status read_file(const std::filesystem::path& path,
                       const std::function<base::Status(std::string_view)>& take) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return base::error(ErrorCode::io, "cannot read {}: {}", path.string(), std::strerror(errno));
  std::string piece(kPieceBytes, '\0');
  base::Status status = base::ok();
  while (status.ok()) {
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size == 0) break;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      status = base::error(ErrorCode::io, "cannot read {}: {}", path.string(), std::strerror(errno));
    else
      status = take(std::string_view(piece).substr(0, static_cast<std::size_t>(size)));
  }
  ::close(fd);
  return status;
}

base::Result<std::string> sha256_of(const std::filesystem::path& path, std::stop_token stop) {
  Sha256 digest;
  TRY_OK(read_file(path, [&](std::string_view bytes) -> base::Status {
    if (stop.stop_requested()) return base::error(ErrorCode::cancelled, "cancelled");
    digest.update(bytes);
    return base::ok();
  }));
  return digest.finish();
}

}  // namespace kvasir::hub
