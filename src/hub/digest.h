#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::hub {

// Computes SHA-256 incrementally.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::string_view bytes);
  // Returns the digest in lower-case hexadecimal. Nothing may be called after this.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Passes a file's bytes to `take` in order, piece by piece. An error from `take` ends the reading.
base::Status read_file(const std::filesystem::path& path,
                       const std::function<base::Status(std::string_view)>& take);

base::Result<std::string> sha256_of(const std::filesystem::path& path, std::stop_token stop);

}  // namespace kvasir::hub
