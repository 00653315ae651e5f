#include "model/file/gguf_writer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/file/gguf_file.h"
#include "model/file/weight_file_builder.h"

namespace kvasir::model {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(GgufWriter, WritesWhatTheReaderReads) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "model.gguf";
  const std::string matrix = float_bytes({1, 2, 3, 4, 5, 6});
  const std::string quantised(2 * 18, 'q');
  {
    GgufWriter writer = GgufWriter::create(path).value();
    writer.key("general.architecture", "llama");
    writer.key("llama.block_count", std::uint32_t{7});
    writer.key("llama.eps", 0.5f);
    writer.key_bool("flag", true);
    writer.key("texts", std::vector<std::string>{"a", "", "b c"});
    writer.key("numbers", std::vector<std::int32_t>{-1, 2});
    writer.key("scores", std::vector<float>{0.25f});
    writer.declare("first", tensor::DType::f32, {2, 3});
    writer.declare("second", tensor::DType::q4_0, {64});
    ASSERT_TRUE(writer.begin().ok());
    ASSERT_TRUE(writer.write(bytes_of(matrix).first(10)).ok());
    ASSERT_TRUE(writer.write(bytes_of(matrix).subspan(10)).ok());
    ASSERT_TRUE(writer.write(bytes_of(quantised)).ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(writer.finish().ok());
  }
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Metadata& metadata = (*file)->metadata();
  EXPECT_EQ(metadata.string("general.architecture"), "llama");
  EXPECT_EQ(metadata.integer("llama.block_count"), 7);
  EXPECT_EQ(metadata.number("llama.eps"), 0.5);
  EXPECT_EQ(metadata.boolean("flag"), true);
  ASSERT_NE(metadata.strings("texts"), nullptr);
  EXPECT_EQ(*metadata.strings("texts"), (std::vector<std::string_view>{"a", "", "b c"}));
  EXPECT_EQ(*metadata.integers("numbers"), (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(*metadata.numbers("scores"), (std::vector<double>{0.25}));
  const tensor::TensorView first = (*file)->find("first").value();
  EXPECT_EQ(first.shape, (tensor::Shape{2, 3}));
  EXPECT_EQ(std::memcmp(first.data, matrix.data(), matrix.size()), 0);
  const tensor::TensorView second = (*file)->find("second").value();
  EXPECT_EQ(second.type, tensor::DType::q4_0);
  EXPECT_EQ(std::memcmp(second.data, quantised.data(), quantised.size()), 0);
}

TEST(GgufWriter, LeavesNothingOfAnUnfinishedFile) {
  const TemporaryDirectory directory;
  {
    GgufWriter writer = GgufWriter::create(directory.path() / "model.gguf").value();
    writer.declare("first", tensor::DType::f32, {4});
    ASSERT_TRUE(writer.begin().ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(GgufWriter, SaysWhereItCannotWrite) {
  const auto writer = GgufWriter::create("/nowhere/at/all.gguf");
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.error().message.find("/nowhere/at/all.gguf"), std::string::npos);
}

TEST(GgufWriter, KnowsACodeForEveryType) {
  for (int type = 0; type < tensor::kNumDTypes; ++type)
    EXPECT_LT(gguf_type_code(static_cast<tensor::DType>(type)), 64u);
}

}  // namespace
}  // namespace kvasir::model
