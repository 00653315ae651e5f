#include "host/fingerprint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kvasir::host {
namespace {

namespace fs = std::filesystem;

class FingerprintTest : public testing::Test {
 protected:
  ~FingerprintTest() override { fs::remove_all(folder_); }
  // The fingerprint of a file of this name and size with the byte at `at` set.
  std::string with_byte(std::size_t at, char byte) {
    fs::create_directories(folder_);
    std::string bytes(1 << 20, 'w');
    bytes[at] = byte;
    const fs::path path = folder_ / "model.gguf";
    std::ofstream(path, std::ios::binary) << bytes;
    return fingerprint_of({.name = "model", .path = path, .size = bytes.size()});
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("fingerprint-" + std::to_string(::getpid()));
};

TEST_F(FingerprintTest, TellsFilesOfOneNameAndSizeApart) {
  const std::string one = with_byte(0, 'x');
  EXPECT_EQ(with_byte(0, 'x'), one);
  EXPECT_NE(with_byte(0, 'y'), one);
  EXPECT_NE(with_byte(512 * 1024 + 7, 'x'), one);
}

}  // namespace
}  // namespace kvasir::host
