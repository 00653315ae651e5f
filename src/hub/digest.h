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

// SHA-256 of bytes as they come.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::string_view bytes);
  // Lower-case hexadecimal. Ends the digest: nothing may be called after it.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Feeds a file's bytes to `take` in order, a piece at a time. An error from `take` ends it.
base::Status read_file(const std::filesystem::path& path,
                       const std::function<base::Status(std::string_view)>& take);

base::Result<std::string> sha256_of(const std::filesystem::path& path, std::stop_token stop);

}  // namespace kvasir::hub
