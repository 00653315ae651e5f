#include "model/checkpoint/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "base/check.h"
#include "model/decoder/decoder.h"
#include "model/decoder/sequence_runner.h"
#include "model/file/safetensors_file.h"
#include "model/file/text_file.h"
#include "model/file/weight_file_builder.h"
#include "model/golden_models_test.h"
#include "ops/quant/dequantize.h"

namespace kvasir::model {
namespace {

namespace json = base::json;

// Puts together a safetensors file, tensor by tensor.
class SafetensorsBuilder {
 public:
  template <class T>
  void add(const std::string& name, std::string_view type, const tensor::Shape& shape,
           const std::vector<T>& values) {
    add_bytes(name, type, shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  void add_bytes(const std::string& name, std::string_view type, const tensor::Shape& shape,
                 std::string_view bytes) {
    header_[name] = json::object{{"dtype", type},
                                 {"shape", json::array(shape.begin(), shape.end())},
                                 {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
  }
  std::string build() const {
    std::string header = json::serialize(header_);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return safetensors(header, data_);
  }

 private:
  json::object header_;
  std::string data_;
};

// 4-bit weights before they are packed.
struct Int4Example {
  std::int64_t rows, cols, group;
  std::vector<std::int32_t> groups;   // the group of each input
  std::vector<std::uint32_t> q;       // [rows, cols]
  std::vector<std::uint32_t> zeros;   // [groups, rows]
  std::vector<std::uint16_t> scales;  // [groups, rows], f16

  float value(std::int64_t row, std::int64_t col) const {
    const auto at = static_cast<std::size_t>(groups[static_cast<std::size_t>(col)] * rows + row);
    const auto weight = static_cast<float>(q[static_cast<std::size_t>(row * cols + col)]);
    return ops::f16_to_f32(scales[at]) * (weight - static_cast<float>(zeros[at]));
  }
};

Int4Example make_int4(std::int64_t rows, std::int64_t cols, std::int64_t group, bool act_order) {
  std::mt19937 random(static_cast<unsigned>(rows * cols + group));
  Int4Example example{rows, cols, group, {}, {}, {}, {}};
  for (std::int64_t c = 0; c < cols; ++c) example.groups.push_back(static_cast<std::int32_t>(c / group));
  if (act_order) std::shuffle(example.groups.begin(), example.groups.end(), random);
  for (std::int64_t i = 0; i < rows * cols; ++i) example.q.push_back(random() % 16);
  for (std::int64_t i = 0; i < cols / group * rows; ++i) {
    example.zeros.push_back(1 + random() % 15);
    example.scales.push_back(ops::f32_to_f16(0.001f + static_cast<float>(random() % 1000) * 1e-5f));
  }
  return example;
}

// AutoGPTQ's layout: word [i / 8][row] holds inputs i to i + 7 of a row, lowest first.
void add_gptq(SafetensorsBuilder& file, const std::string& base, const Int4Example& e, int zero_offset) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(e.rows * e.cols / 8));
  for (std::int64_t row = 0; row < e.rows; ++row) {
    for (std::int64_t c = 0; c < e.cols; ++c)
      words[static_cast<std::size_t>(c / 8 * e.rows + row)] |= e.q[static_cast<std::size_t>(row * e.cols + c)]
                                                               << (c % 8 * 4);
  }
  std::vector<std::uint32_t> zeros(e.zeros.size() / 8);
  for (std::size_t i = 0; i < e.zeros.size(); ++i)
    zeros[i / 8] |= (e.zeros[i] - static_cast<std::uint32_t>(zero_offset)) << (i % 8 * 4);
  const std::int64_t groups = e.cols / e.group;
  file.add(base + "qweight", "I32", {e.cols / 8, e.rows}, words);
  file.add(base + "qzeros", "I32", {groups, e.rows / 8}, zeros);
  file.add(base + "scales", "F16", {groups, e.rows}, e.scales);
  file.add(base + "g_idx", "I32", {e.cols}, e.groups);
}

// AutoAWQ's layout: word [input][row / 8] holds eight outputs, the even ones first.
void add_awq(SafetensorsBuilder& file, const std::string& base, const Int4Example& e) {
  const auto pack = [](const auto& value_of, std::int64_t lines, std::int64_t rows) {
    std::vector<std::uint32_t> words;
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t row = 0; row < rows; row += 8) {
        std::uint32_t word = 0;
        int place = 0;
        for (const int output : {0, 2, 4, 6, 1, 3, 5, 7})
          word |= value_of(line, row + output) << (4 * place++);
        words.push_back(word);
      }
    }
    return words;
  };
  const std::int64_t groups = e.cols / e.group;
  const auto weight = [&](std::int64_t c, std::int64_t r) {
    return e.q[static_cast<std::size_t>(r * e.cols + c)];
  };
  const auto zero = [&](std::int64_t g, std::int64_t r) {
    return e.zeros[static_cast<std::size_t>(g * e.rows + r)];
  };
  file.add(base + "qweight", "I32", {e.cols, e.rows / 8}, pack(weight, e.cols, e.rows));
  file.add(base + "qzeros", "I32", {groups, e.rows / 8}, pack(zero, groups, e.rows));
  file.add(base + "scales", "F16", {groups, e.rows}, e.scales);
}

std::unique_ptr<SafetensorsFile> open(const TemporaryDirectory& directory,
                                      const SafetensorsBuilder& builder) {
  auto file = SafetensorsFile::open(directory.write("model.safetensors", builder.build()));
  CHECK(file.ok(), "{}", file.error().message);
  return std::move(*file);
}

std::vector<float> floats_of(const tensor::TensorView& view) {
  std::vector<float> values(static_cast<std::size_t>(tensor::num_elems(view.shape)));
  ops::dequantize(view.type, view.data, values);
  return values;
}

// A wrong zero point would be off by a whole step. A zero point of 15 that is rounded to 11 bits is off by
// only 1/137 of a step.
void expect_int4(const WeightFile& file, const PackingConfig& packing, const Int4Example& e) {
  auto unpacked = unpack_matrix(file, packing, "x.weight", {e.rows, e.cols}, tensor::DType::f32);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
  ASSERT_TRUE(unpacked->has_value());
  const UnpackedMatrix& matrix = **unpacked;
  EXPECT_EQ(matrix.view.type, tensor::DType::q4_1);
  const std::vector<float> values = floats_of(matrix.view);
  for (std::int64_t row = 0; row < e.rows; ++row) {
    for (std::int64_t c = 0; c < e.cols; ++c) {
      const std::int64_t input =
          matrix.input_order.empty() ? c : matrix.input_order[static_cast<std::size_t>(c)];
      ASSERT_NEAR(values[static_cast<std::size_t>(row * e.cols + c)], e.value(row, input), 0.011f / 130)
          << row << ", " << c;
    }
  }
}

TEST(PackedMatrix, ReadsGptqInEveryGroupSizeAndOrder) {
  for (const int group : {32, 64, 128, 256}) {
    for (const bool act_order : {false, true}) {
      for (const int offset : {0, 1}) {
        const Int4Example example = make_int4(24, 256, group, act_order);
        SafetensorsBuilder builder;
        add_gptq(builder, "x.", example, offset);
        const TemporaryDirectory directory;
        SCOPED_TRACE(testing::Message() << "group " << group << ", act-order " << act_order);
        expect_int4(*open(directory, builder), {PackedFormat::gptq, group == 256 ? -1 : group, offset},
                    example);
      }
    }
  }
}

TEST(PackedMatrix, ReadsAwqInEveryGroupSize) {
  for (const int group : {32, 64, 128}) {
    const Int4Example example = make_int4(32, 256, group, false);
    SafetensorsBuilder builder;
    add_awq(builder, "x.", example);
    const TemporaryDirectory directory;
    expect_int4(*open(directory, builder), {PackedFormat::awq, group, 0}, example);
  }
}

TEST(PackedMatrix, LeavesWhatIsNotPacked) {
  SafetensorsBuilder builder;
  builder.add("x.weight", "F32", {1, 32}, std::vector<float>(32));
  const TemporaryDirectory directory;
  const auto file = open(directory, builder);
  for (const PackedFormat format :
       {PackedFormat::none, PackedFormat::gptq, PackedFormat::awq, PackedFormat::fp8}) {
    const auto unpacked = unpack_matrix(*file, {format, 32, 0}, "x.weight", {1, 32}, tensor::DType::f32);
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
    EXPECT_FALSE(unpacked->has_value());
  }
}

TEST(PackedMatrix, ReadsFp8WithEachKindOfScale) {
  // The codes mean one, the largest number, the smallest above zero, minus one and a half, and zero.
  const std::vector<std::uint8_t> codes = {0x38, 0x7E, 0x01, 0xBC, 0x00};
  const std::vector<float> values = {1, 448, 1.0f / 512, -1.5f, 0};
  const tensor::Shape shape = {130, 5};
  std::vector<std::uint8_t> bytes;
  for (int row = 0; row < 130; ++row) bytes.insert(bytes.end(), codes.begin(), codes.end());
  std::vector<float> rows(130);
  std::iota(rows.begin(), rows.end(), 1.0f);
  struct Kind {
    std::string name;
    tensor::Shape shape;
    std::vector<float> scales;
    float (*expected)(int row);
  };
  const Kind kinds[] = {
      {"x.weight_scale", {1}, {0.5f}, [](int) { return 0.5f; }},
      {"x.weight_scale", {130, 1}, rows, [](int row) { return static_cast<float>(row + 1); }},
      {"x.weight_scale_inv", {2, 1}, {2, 3}, [](int row) { return row < 128 ? 2.0f : 3.0f; }},
  };
  for (const Kind& kind : kinds) {
    SafetensorsBuilder builder;
    builder.add(kind.name, "F32", kind.shape, kind.scales);
    builder.add("x.weight", "F8_E4M3", shape, bytes);
    const TemporaryDirectory directory;
    const auto file = open(directory, builder);
    auto unpacked = unpack_matrix(*file, {PackedFormat::fp8, 0, 0}, "x.weight", shape, tensor::DType::f32);
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
    ASSERT_TRUE(unpacked->has_value());
    const std::vector<float> got = floats_of((*unpacked)->view);
    for (int row = 0; row < 130; ++row) {
      for (int c = 0; c < 5; ++c)
        ASSERT_EQ(got[static_cast<std::size_t>(row * 5 + c)],
                  values[static_cast<std::size_t>(c)] * kind.expected(row));
    }
  }
}

TEST(PackedMatrix, HostileFilesAreErrors) {
  const Int4Example example = make_int4(16, 64, 32, false);
  const auto error_of = [&](const PackingConfig& packing, const tensor::Shape& shape, auto&& damage) {
    Int4Example damaged = example;
    damage(damaged);
    SafetensorsBuilder builder;
    add_gptq(builder, "x.", damaged, 1);
    const TemporaryDirectory directory;
    const auto file = open(directory, builder);
    const auto unpacked = unpack_matrix(*file, packing, "x.weight", shape, tensor::DType::f32);
    return unpacked.ok() ? std::string("none") : unpacked.error().message;
  };
  const auto intact = [](Int4Example&) {};
  const PackingConfig gptq{PackedFormat::gptq, 32, 1};
  EXPECT_EQ(error_of(gptq, {16, 64}, intact), "none");
  EXPECT_NE(error_of(gptq, {16, 64}, [](Int4Example& e) { e.groups[3] = 2; }).find("group 2 of 2"),
            std::string::npos);
  EXPECT_NE(error_of(gptq, {16, 64}, [](Int4Example& e) { e.groups[3] = -1; }).find("g_idx"),
            std::string::npos);
  EXPECT_NE(error_of(gptq, {16, 64}, [](Int4Example& e) { e.groups[3] = 1; }).find("another size"),
            std::string::npos);
  EXPECT_NE(error_of(gptq, {24, 64}, intact).find("x.qweight"), std::string::npos);
  EXPECT_NE(error_of(gptq, {16, 80}, intact).find("80 inputs"), std::string::npos);
  EXPECT_NE(error_of({PackedFormat::gptq, 64, 1}, {16, 64}, intact).find("x.qzeros"), std::string::npos);
  EXPECT_NE(error_of({PackedFormat::awq, 32, 0}, {16, 64}, intact).find("x.qweight"), std::string::npos);
}

TEST(PackedMatrix, ReadsTheConfig) {
  const auto read = [](std::string_view text) { return read_packing(json::parse(text).get_object()); };
  EXPECT_EQ(read("{}")->format, PackedFormat::none);
  const auto gptq = read(R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128}})");
  ASSERT_TRUE(gptq.ok());
  EXPECT_EQ(gptq->group_size, 128);
  EXPECT_EQ(gptq->zero_point_offset, 1);
  for (
      const char* bad : {
          R"({"quantization_config":7})",
          R"({"quantization_config":{"quant_method":"aqlm"}})",
          R"({"quantization_config":{"quant_method":"gptq","bits":3,"group_size":128}})",
          R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":20}})",
          R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":64,"checkpoint_format":"marlin"}})",
          R"({"quantization_config":{"quant_method":"awq","bits":4,"group_size":64,"version":"gemv"}})",
          R"({"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized"}})",
      })
    EXPECT_FALSE(read(bad).ok()) << bad;
}

std::vector<float> logits_of(const std::filesystem::path& path, ops::Precision precision) {
  ops::ComputePool pool(2);
  auto checkpoint = open_checkpoint(path);
  CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
  auto decoder = Decoder::load(std::move(*checkpoint), {.precision = precision}, pool);
  CHECK(decoder.ok(), "{}", decoder.error().message);
  auto runner = SequenceRunner::create(**decoder, ops::KvType::f32, 64);
  CHECK(runner.ok(), "{}", runner.error().message);
  std::vector<TokenId> tokens(20);
  std::iota(tokens.begin(), tokens.end(), 5);
  const std::span<const float> logits = runner->feed(tokens, 20);
  return {logits.begin(), logits.end()};
}

// Packs all matrices whose rows are whole groups, and compares the model with one that has the same numbers
// as floats.
TEST(PackedMatrix, APackedModelGivesTheLogitsOfItsNumbers) {
  const auto original = SafetensorsFile::open_directory(kModels / "llama");
  ASSERT_TRUE(original.ok());
  auto config = read_json_file(kModels / "llama" / "config.json");
  ASSERT_TRUE(config.ok());
  SafetensorsBuilder packed;
  SafetensorsBuilder plain;
  int num_packed = 0;
  for (const std::string_view stored : (*original)->names()) {
    const std::string name(stored);
    const tensor::TensorView view = *(*original)->find(name);
    const bool pack = name.find("_proj.weight") != std::string::npos && view.cols() % 32 == 0;
    if (!pack) {
      packed.add(name, "F32", view.shape, floats_of(view));
      plain.add(name, "F32", view.shape, floats_of(view));
      continue;
    }
    ++num_packed;
    const Int4Example example = make_int4(view.rows(), view.cols(), 32, true);
    add_gptq(packed, name.substr(0, name.size() - 6), example, 1);
    std::vector<float> values;
    for (std::int64_t row = 0; row < view.rows(); ++row) {
      for (std::int64_t c = 0; c < view.cols(); ++c) values.push_back(example.value(row, c));
    }
    plain.add(name, "F32", view.shape, values);
  }
  EXPECT_EQ(num_packed, 4 * 6);
  const TemporaryDirectory packed_directory;
  const TemporaryDirectory plain_directory;
  plain_directory.write("config.json", json::serialize(*config));
  plain_directory.write("model.safetensors", plain.build());
  (*config)["quantization_config"] = json::object{{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}};
  packed_directory.write("config.json", json::serialize(*config));
  packed_directory.write("model.safetensors", packed.build());

  const std::vector<float> expected = logits_of(plain_directory.path(), ops::Precision::exact);
  const auto [low, high] = std::ranges::minmax(expected);
  for (const ops::Precision precision : {ops::Precision::exact, ops::Precision::fast}) {
    const std::vector<float> got = logits_of(packed_directory.path(), precision);
    float worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - expected[i]));
    EXPECT_LT(worst / (high - low), precision == ops::Precision::exact ? 2e-3f : 2e-2f);
  }
}

}  // namespace
}  // namespace kvasir::model
