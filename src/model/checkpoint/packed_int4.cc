#include "model/checkpoint/packed_int4.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "ops/quant/dequantize.h"
#include "ops/quant/quant_blocks.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

constexpr int kNibbles = 8;  // 4-bit weights in a stored word
constexpr int kBlock = 32;   // columns of a Q4_1 block
// In AWQ, nibble i of a word belongs to output kInterleaved[i] of the word's eight outputs.
constexpr std::array<int, kNibbles> kInterleaved = {0, 2, 4, 6, 1, 3, 5, 7};

constexpr std::array<int, kNibbles> inverse(const std::array<int, kNibbles>& order) {
  std::array<int, kNibbles> places{};
  for (int i = 0; i < kNibbles; ++i) places[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  return places;
}
constexpr std::array<int, kNibbles> kPlaces = inverse(kInterleaved);

std::uint32_t word_at(const std::byte* data, std::int64_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, data + index * 4, sizeof(word));
  return word;
}

void store(float value, ops::Half& half) {
  const std::uint16_t bits = ops::f32_to_f16(value);
  std::memcpy(half, &bits, sizeof(bits));
}

class Int4Matrix {
 public:
  Int4Matrix(const WeightFile& file, const PackingConfig& packing, std::string base,
             const tensor::Shape& shape)
      : file_(file), packing_(packing), base_(std::move(base)), rows_(shape[0]), cols_(shape[1]) {}

  base::Result<UnpackedMatrix> unpack() {
    TRY_OK(open());
    UnpackedMatrix matrix;
    TRY(matrix.input_order, input_order());
    const tensor::DType type = tensor::DType::q4_1;
    matrix.memory = tensor::Buffer(static_cast<std::size_t>(rows_ * tensor::bytes_of(type, cols_)));
    matrix.view = {matrix.memory.data(), type, {rows_, cols_}};
    auto* blocks = reinterpret_cast<ops::BlockQ4_1*>(matrix.memory.data());
    const std::int64_t row_blocks = cols_ / kBlock;
    // The inner loop is over rows, because stored words of neighbouring outputs are neighbours.
    for (std::int64_t block = 0; block < row_blocks; ++block) {
      for (std::int64_t row = 0; row < rows_; ++row)
        fill(row, block, matrix.input_order, blocks[row * row_blocks + block]);
    }
    return matrix;
  }

 private:
  bool by_input() const { return packing_.format == PackedFormat::gptq; }

  base::Status open() {
    group_ = packing_.group_size == -1 ? cols_ : packing_.group_size;
    if (cols_ % group_ != 0 || cols_ % kBlock != 0 || rows_ % kNibbles != 0)
      return base::error(ErrorCode::corrupt, "matrix {:?} of {} inputs and {} outputs in groups of {}", base_,
                         cols_, rows_, group_);
    const std::int64_t groups = cols_ / group_;
    const std::int64_t words = rows_ / kNibbles;
    const tensor::Shape weights =
        by_input() ? tensor::Shape{cols_ / kNibbles, rows_} : tensor::Shape{cols_, words};
    TRY(weights_, words_of("qweight", weights));
    TRY(zeros_, words_of("qzeros", {groups, words}));
    TRY(const tensor::TensorView scales, file_.find(base_ + "scales"));
    if (scales.shape != tensor::Shape{groups, rows_})
      return base::error(ErrorCode::corrupt, "tensor {:?} has shape [{}] where the config makes it [{}, {}]",
                         base_ + "scales", fmt::join(scales.shape, ", "), groups, rows_);
    scales_.resize(static_cast<std::size_t>(groups * rows_));
    ops::dequantize(scales.type, scales.data, scales_);
    return base::ok();
  }

  base::Result<const std::byte*> words_of(std::string_view part, const tensor::Shape& shape) const {
    TRY(const RawTensor raw, file_.find_raw(base_ + std::string(part)));
    if (raw.type != "I32" || raw.shape != shape)
      return base::error(ErrorCode::corrupt, "tensor {:?} is {} [{}] where the config makes it I32 [{}]",
                         base_ + std::string(part), raw.type, fmt::join(raw.shape, ", "),
                         fmt::join(shape, ", "));
    return raw.data;
  }

  // GPTQ may form groups by the importance of the inputs, so that a group's inputs are scattered over the
  // row. Returns an order of the inputs that brings each group together, or nothing if they are in order
  // already.
  base::Result<std::vector<std::int32_t>> input_order() const {
    std::vector<std::int32_t> order;
    if (!by_input() || !file_.contains(base_ + "g_idx")) return order;
    TRY(const std::byte* indices, words_of("g_idx", {cols_}));
    const auto group_of = [&](std::int64_t c) { return static_cast<std::int64_t>(word_at(indices, c)); };
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(cols_ / group_));
    bool in_order = true;
    for (std::int64_t c = 0; c < cols_; ++c) {
      if (group_of(c) >= std::ssize(sizes))
        return base::error(ErrorCode::corrupt, "tensor {:?} puts input {} into group {} of {}",
                           base_ + "g_idx", c, group_of(c), sizes.size());
      ++sizes[static_cast<std::size_t>(group_of(c))];
      in_order = in_order && group_of(c) == c / group_;
    }
    if (in_order) return order;
    if (std::ranges::any_of(sizes, [&](std::int64_t size) { return size != group_; }))
      return base::error(ErrorCode::corrupt, "tensor {:?} has groups of another size than {}",
                         base_ + "g_idx", group_);
    order.resize(static_cast<std::size_t>(cols_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, group_of);
    return order;
  }

  std::uint32_t weight_at(std::int64_t row, std::int64_t input) const {
    if (by_input()) return word_at(weights_, input / kNibbles * rows_ + row) >> (input % kNibbles * 4) & 15;
    const int place = kPlaces[static_cast<std::size_t>(row % kNibbles)];
    return word_at(weights_, (input * rows_ + row) / kNibbles) >> (place * 4) & 15;
  }

  std::uint32_t zero_at(std::int64_t group, std::int64_t row) const {
    const int place =
        by_input() ? static_cast<int>(row % kNibbles) : kPlaces[static_cast<std::size_t>(row % kNibbles)];
    const std::uint32_t stored = word_at(zeros_, (group * rows_ + row) / kNibbles) >> (place * 4) & 15;
    return stored + static_cast<std::uint32_t>(packing_.zero_point_offset);
  }

  void fill(std::int64_t row, std::int64_t block, const std::vector<std::int32_t>& order,
            ops::BlockQ4_1& out) const {
    const std::int64_t first = block * kBlock;
    const std::int64_t group = first / group_;
    const float scale = scales_[static_cast<std::size_t>(group * rows_ + row)];
    store(scale, out.d);
    store(-scale * static_cast<float>(zero_at(group, row)), out.m);
    const auto weight = [&](std::int64_t c) {
      return weight_at(row, order.empty() ? c : order[static_cast<std::size_t>(c)]);
    };
    for (std::int64_t i = 0; i < kBlock / 2; ++i)
      out.qs[i] = static_cast<std::uint8_t>(weight(first + i) | weight(first + kBlock / 2 + i) << 4);
  }

  const WeightFile& file_;
  const PackingConfig& packing_;
  const std::string base_;  // what the tensors' names begin with, up to the dot
  const std::int64_t rows_;
  const std::int64_t cols_;
  std::int64_t group_ = 0;
  const std::byte* weights_ = nullptr;
  const std::byte* zeros_ = nullptr;
  std::vector<float> scales_;
};

}  // namespace

base::Result<std::optional<UnpackedMatrix>> unpack_int4(const WeightFile& file, const PackingConfig& packing,
                                                        const std::string& name, const tensor::Shape& shape) {
  const std::string base = name.substr(0, name.rfind('.') + 1);
  if (!file.contains(base + "qweight")) return std::optional<UnpackedMatrix>();
  TRY(UnpackedMatrix matrix, Int4Matrix(file, packing, base, shape).unpack());
  return std::optional(std::move(matrix));
}

}  // namespace kvasir::model
