#include "remote/text_assets.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

namespace kvasir::remote {

std::string digest_of(const TextAssets& assets) {
  // All sizes come before the contents, so that no two sets of files give the same bytes.
  std::string head = fmt::format("{}", assets.vocab_size);
  std::string all;
  for (const TextFile& file : assets.files) {
    head += fmt::format("\n{} {}", file.name, file.bytes.size());
    all += file.bytes;
  }
  head += '\0';
  all.insert(0, head);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace kvasir::remote
