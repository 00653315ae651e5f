#include "model/file/safetensors_file.h"

#include <gtest/gtest.h>

#include <random>

#include "model/file/weight_file_builder.h"

namespace kvasir::model {
namespace {

using base::ErrorCode;

// Pads the header, as writers of the format do, so that the data is aligned.
std::string make(std::string header, std::string_view data) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return safetensors(header, data);
}

std::string sample() {
  return make(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
              R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
              R"("c":{"dtype":"I64","shape":[1],"data_offsets":[22,30]}})",
              float_bytes({1, 2, 3, 4}) + std::string(14, 'x'));
}

base::Result<std::unique_ptr<SafetensorsFile>> open(const std::string& bytes) {
  const TemporaryDirectory directory;
  return SafetensorsFile::open(directory.write("model.safetensors", bytes));
}

std::string problem(const std::string& header, std::string_view data) {
  const auto file = open(make(header, data));
  return file.ok() ? "" : file.error().message;
}

TEST(SafetensorsFile, GivesTensors) {
  const auto file = open(sample());
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto a = (*file)->find("a");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->shape, (tensor::Shape{2, 2}));
  float values[4];
  std::memcpy(values, a->data, sizeof(values));
  EXPECT_EQ(values[3], 4.0f);
  EXPECT_EQ((*file)->find("b")->type, tensor::DType::bf16);
  EXPECT_EQ((*file)->find("c").error().code, ErrorCode::unsupported);
  EXPECT_EQ((*file)->find("d").error().code, ErrorCode::not_found);
  EXPECT_EQ((*file)->names().size(), 3u);
}

TEST(SafetensorsFile, NamesWhatIsWrong) {
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(problem(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"), "need 8"));
  EXPECT_TRUE(
      has(problem(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "12345678"), "4 more follow"));
  EXPECT_TRUE(
      has(problem(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678"), "starts at 4"));
  EXPECT_TRUE(
      has(problem(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", "12345678"), "no range"));
  EXPECT_TRUE(
      has(problem(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", "1234"),
          "too large"));
  EXPECT_TRUE(has(problem(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"), "no count"));
  EXPECT_TRUE(has(problem(R"([1])", ""), "no JSON object"));
  EXPECT_TRUE(has(problem(R"({"a":)", ""), "JSON"));
  EXPECT_TRUE(has(problem(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                          "12345"),
                  "not aligned"));
  EXPECT_EQ(open(make(R"({"a":)", "")).error().code, ErrorCode::corrupt);
  EXPECT_TRUE(
      has(open(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)).error().message, "claims a header of"));
}

TEST(SafetensorsFile, EveryTruncationSaysThatTheFileIsCutOff) {
  const std::string whole = sample();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto file = open(whole.substr(0, size));
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_NE(file.error().message.find("cut off"), std::string::npos) << size << file.error().message;
  }
}

TEST(SafetensorsFile, JoinsShards) {
  const TemporaryDirectory directory;
  directory.write("one.safetensors",
                  make(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", float_bytes({1})));
  directory.write("two.safetensors",
                  make(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", float_bytes({2})));
  const auto index = [&](std::string_view map) {
    directory.write("model.safetensors.index.json", fmt::format(R"({{"weight_map":{}}})", map));
    return SafetensorsFile::open_directory(directory.path());
  };
  const auto good = index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_TRUE((*good)->contains("a"));
  EXPECT_TRUE((*good)->contains("b"));
  EXPECT_EQ(index(R"({"a":"two.safetensors"})").error().code, ErrorCode::corrupt);
  EXPECT_EQ(index(R"({"a":"three.safetensors"})").error().code, ErrorCode::not_found);
  EXPECT_EQ(index(R"({"a":"../one.safetensors"})").error().code, ErrorCode::corrupt);
  EXPECT_EQ(index(R"({"a":7})").error().code, ErrorCode::corrupt);
  EXPECT_EQ(index(R"(3)").error().code, ErrorCode::corrupt);
}

TEST(SafetensorsFile, EveryTruncationIsAnError) {
  const std::string whole = sample();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(open(whole.substr(0, size)).ok()) << size;
}

TEST(SafetensorsFile, MutationsNeverCrash) {
  const TemporaryDirectory directory;
  const std::string whole = sample();
  std::mt19937 random(11);
  int num_loaded = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string bytes = whole;
    const int num_flips = 1 + static_cast<int>(random() % 3);
    for (int flip = 0; flip < num_flips; ++flip) {
      const char values[] = {'\0', '\xff', '9', '-', ']', '"', static_cast<char>(random())};
      bytes[random() % bytes.size()] = values[random() % 7];
    }
    const auto file = SafetensorsFile::open(directory.write("model.safetensors", bytes));
    if (!file.ok()) continue;
    ++num_loaded;
    unsigned sum = 0;
    for (const std::string_view name : (*file)->names()) {
      const auto view = (*file)->find(name);
      if (!view.ok()) continue;
      for (std::int64_t byte = 0; byte < view->bytes(); ++byte)
        sum += static_cast<unsigned>(view->data[byte]);
    }
    EXPECT_GE(sum, 0u);
  }
  EXPECT_GT(num_loaded, 100);
}

}  // namespace
}  // namespace kvasir::model
