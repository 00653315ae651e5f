#include "model/tokenizer/tokenizer_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace kvasir::model {
namespace {

namespace fs = std::filesystem;

std::string file_with(const std::string& token) {
  return R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"model":{"type":"BPE",
    "vocab":{"a":0,"b":1,"ab":2,")" +
         token + R"(":3},"merges":["a b"]}})";
}

class TokenizerCacheTest : public testing::Test {
 protected:
  TokenizerCacheTest() {
    std::string name = (fs::temp_directory_path() / "kvasir-tokenizer-cache-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~TokenizerCacheTest() override { fs::remove_all(folder_); }

  TokenizerCache cache() const {
    return TokenizerCache({.directory = folder_ / "images", .min_source_bytes = 0, .max_images = 3});
  }
  std::vector<fs::path> images() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder_ / "images")) paths.push_back(entry.path());
    return paths;
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static void expect_works(const TokenizerCache& cache, const std::string& file) {
    const auto tokenizer = cache.load(file, {});
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->encode("abb", text::Specials::parse), (std::vector<TokenId>{2, 1}));
  }

  fs::path folder_;
};

TEST_F(TokenizerCacheTest, TheSecondLoadMapsTheImage) {
  const std::string file = file_with("x");
  expect_works(cache(), file);
  ASSERT_EQ(images().size(), 1u);
  // In this image "a" is spelled "b", so the result shows whether the image or the file was read.
  std::string image = read(images()[0]);
  const auto held = cache().load(file, {});  // keeps the old image mapped
  const std::size_t spellings = image.find("abab");
  ASSERT_NE(spellings, std::string::npos);
  image[spellings] = 'b';
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  std::vector<Block> blocks(image.size() / 64);
  std::memcpy(blocks.data(), image.data(), image.size());
  text::seal_image(std::as_writable_bytes(std::span(blocks)));
  fs::remove(images()[0]);
  const auto key = text::image_key(file);
  write(folder_ / "images" / fmt::format("{:016x}{:016x}.kvtok", key[1], key[0]),
        std::string(reinterpret_cast<const char*>(blocks.data()), image.size()));
  EXPECT_EQ((*cache().load(file, {}))->bytes(0), "b");
  EXPECT_EQ((*held)->bytes(0), "a");
}

TEST_F(TokenizerCacheTest, WhatCannotBeUsedIsReplaced) {
  const std::string file = file_with("x");
  expect_works(cache(), file);
  const fs::path path = images().at(0);
  const std::string image = read(path);
  expect_works(cache(), file_with("y"));
  const auto other = images();
  const std::string foreign = read(other[0] == path ? other.at(1) : other.at(0));
  std::string flipped = image;
  flipped[image.size() / 2] ^= 1;
  for (const std::string& bad : {std::string(), std::string("garbage"), image.substr(0, image.size() / 2),
                                 flipped, image + image, foreign}) {
    write(path, bad);
    expect_works(cache(), file);
    EXPECT_EQ(read(path), image);
  }
  fs::remove(path);
  fs::create_directory(path);  // a directory can be neither read nor replaced
  expect_works(cache(), file);
}

TEST_F(TokenizerCacheTest, ADirectoryThatCannotBeWrittenIsNoError) {
  write(folder_ / "file", "no directory");
  expect_works(TokenizerCache({.directory = folder_ / "file" / "images", .min_source_bytes = 0}),
               file_with("x"));
  expect_works(TokenizerCache(), file_with("x"));
}

TEST_F(TokenizerCacheTest, KeepsOnlySoManyAndTheOnesInUse) {
  expect_works(cache(), file_with("first"));
  const fs::path first = images().at(0);
  for (const char* token : {"p", "q", "r", "s", "t"}) {
    for (const fs::path& path : images())
      fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(2));
    expect_works(cache(), file_with("first"));
    expect_works(cache(), file_with(token));
  }
  EXPECT_EQ(images().size(), 3u);
  EXPECT_TRUE(fs::exists(first));
}

TEST_F(TokenizerCacheTest, SmallFilesHaveNone) {
  expect_works(TokenizerCache({.directory = folder_ / "images"}), file_with("x"));
  EXPECT_FALSE(fs::exists(folder_ / "images"));
}

TEST_F(TokenizerCacheTest, AnErrorIsTheFilesOwn) {
  const auto tokenizer = cache().load("{", {});
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_NE(tokenizer.error().message.find("JSON"), std::string::npos) << tokenizer.error().message;
  EXPECT_FALSE(fs::exists(folder_ / "images"));
}

}  // namespace
}  // namespace kvasir::model
