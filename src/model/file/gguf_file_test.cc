#include "model/file/gguf_file.h"

#include <gtest/gtest.h>

#include <random>

#include "model/file/weight_file_builder.h"

namespace kvasir::model {
namespace {

using base::ErrorCode;
using tensor::DType;

std::string sample() {
  return GgufBuilder()
      .key("general.architecture", "llama")
      .key("llama.block_count", std::uint32_t{2})
      .key("llama.rope.freq_base", 10000.0f)
      .key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "", "dé"})
      .key("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 3, -1})
      .tensor("one", {3}, 0, float_bytes({1, 2, 3}))
      .tensor("two", {32, 2}, 8, std::string(68, '\x11'))
      .build();
}

base::Result<std::unique_ptr<GgufFile>> open(const std::string& bytes) {
  const TemporaryDirectory directory;
  return GgufFile::open(directory.write("x.gguf", bytes));
}

std::string problem(const std::string& bytes) {
  const auto file = open(bytes);
  return file.ok() ? "" : file.error().message;
}

TEST(GgufFile, GivesKeysAndTensors) {
  const auto opened = open(sample());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const GgufFile& file = **opened;
  EXPECT_EQ(file.metadata().string("general.architecture"), "llama");
  EXPECT_EQ(file.metadata().integer("llama.block_count"), 2);
  EXPECT_EQ(file.metadata().number("llama.rope.freq_base"), 10000.0);
  EXPECT_EQ(file.metadata().number("llama.block_count"), 2.0);
  EXPECT_FALSE(file.metadata().integer("general.architecture").has_value());
  ASSERT_NE(file.metadata().strings("tokenizer.ggml.tokens"), nullptr);
  EXPECT_EQ(file.metadata().strings("tokenizer.ggml.tokens")->at(3), "dé");
  EXPECT_EQ(file.metadata().integers("tokenizer.ggml.token_type")->at(3), -1);
  EXPECT_EQ(file.names(), (std::vector<std::string_view>{"one", "two"}));

  const auto one = file.find("one");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->shape, tensor::Shape{3});
  float values[3];
  std::memcpy(values, one->data, sizeof(values));
  EXPECT_EQ(values[2], 3.0f);
  const auto two = file.find("two");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->type, DType::q8_0);
  EXPECT_EQ(two->shape, (tensor::Shape{2, 32}));
  EXPECT_EQ(file.find("three").error().code, ErrorCode::not_found);
}

TEST(GgufFile, ReadsVersionTwo) {
  EXPECT_TRUE(open(GgufBuilder().key("k", "v").build(2)).ok());
  EXPECT_EQ(open(GgufBuilder().build(1)).error().code, ErrorCode::unsupported);
  EXPECT_NE(problem(GgufBuilder().build(0x03000000)).find("big-endian"), std::string::npos);
}

TEST(GgufFile, NamesWhatIsWrong) {
  EXPECT_NE(problem("GGML and so on").find("not a GGUF file"), std::string::npos);
  EXPECT_NE(problem(GgufBuilder().tensor("t", {256}, 17, "").build()).find("\"t\" has type IQ2_XS"),
            std::string::npos);
  EXPECT_EQ(open(GgufBuilder().tensor("t", {256}, 17, "").build()).error().code, ErrorCode::unsupported);
  EXPECT_NE(problem(GgufBuilder().tensor("t", {32}, 777, "").build()).find("unknown type 777"),
            std::string::npos);
  EXPECT_NE(
      problem(GgufBuilder().tensor("t", {33}, 8, std::string(68, 'x')).build()).find("whole Q8_0 blocks"),
      std::string::npos);
  EXPECT_NE(problem(GgufBuilder().tensor("t", {1000}, 0, "short").build())
                .find("cut off: it ends before the end of tensor"),
            std::string::npos);
  EXPECT_NE(problem(GgufBuilder().tensor("t", {0}, 0, "").build()).find("dimension 0"), std::string::npos);
  const std::uint64_t big = std::uint64_t{1} << 32;
  EXPECT_NE(problem(GgufBuilder().tensor("t", {big, big, big}, 0, "").build()).find("too large"),
            std::string::npos);
  EXPECT_NE(problem(GgufBuilder().key("k", "1").key("k", "2").build()).find("\"k\" stands twice"),
            std::string::npos);
  EXPECT_NE(problem(GgufBuilder().tensor("t", {1}, 0, "1234").tensor("t", {1}, 0, "1234").build())
                .find("\"t\" stands twice"),
            std::string::npos);
  EXPECT_NE(problem(GgufBuilder().key("general.alignment", std::uint32_t{3}).build()).find("power of two"),
            std::string::npos);
}

TEST(GgufFile, RefusesTensorsThatOverlap) {
  std::string file = GgufBuilder()
                         .tensor("one", {16}, 0, std::string(64, 'x'))
                         .tensor("two", {16}, 0, std::string(64, 'y'))
                         .build();
  ASSERT_EQ(problem(file), "");
  const std::string record = "two" + std::string("\x01\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0", 16);
  const std::size_t offset = file.find(record) + record.size();
  ASSERT_EQ(file[offset], 64);
  for (const char moved : {'\0', '\x20'}) {
    file[offset] = moved;
    EXPECT_NE(problem(file).find("\"one\" and \"two\" overlap"), std::string::npos) << problem(file);
  }
}

TEST(GgufFile, RefusesAbsentAndOddPaths) {
  const TemporaryDirectory directory;
  EXPECT_EQ(GgufFile::open(directory.path() / "none").error().code, ErrorCode::not_found);
  EXPECT_FALSE(GgufFile::open(directory.path()).ok());
  EXPECT_FALSE(GgufFile::open(directory.write("empty", "")).ok());
}

TEST(GgufFile, EveryTruncationIsAnError) {
  const std::string whole = sample();
  // The bytes after the last tensor's data are padding that nothing refers to.
  for (std::size_t size = 0; size + 28 < whole.size(); ++size)
    EXPECT_NE(problem(whole.substr(0, size)).find(size == 0 ? "empty" : "cut off"), std::string::npos)
        << size << ": " << problem(whole.substr(0, size));
}

// Reads everything that an open file offers, so that a sanitizer finds a view that leaves the file.
void touch(const WeightFile& file) {
  unsigned sum = 0;
  for (const std::string_view name : file.names()) {
    const auto view = file.find(name);
    if (!view.ok()) continue;
    for (std::int64_t i = 0; i < view->bytes(); ++i) sum += static_cast<unsigned>(view->data[i]);
  }
  EXPECT_GE(sum, 0u);
}

TEST(GgufFile, MutationsNeverCrash) {
  const TemporaryDirectory directory;
  const std::string whole = sample();
  std::mt19937 random(7);
  int num_loaded = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string bytes = whole;
    const int num_flips = 1 + static_cast<int>(random() % 4);
    for (int flip = 0; flip < num_flips; ++flip) {
      const std::size_t at = random() % bytes.size();
      // Extreme bytes make extreme lengths and counts.
      const char values[] = {'\0', '\x01', '\x7f', '\xff', static_cast<char>(random())};
      bytes[at] = values[random() % 5];
    }
    const auto file = GgufFile::open(directory.write("x.gguf", bytes));
    if (!file.ok()) continue;
    ++num_loaded;
    touch(**file);
  }
  EXPECT_GT(num_loaded, 100);
  EXPECT_LT(num_loaded, 5900);
}

}  // namespace
}  // namespace kvasir::model
