#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "ops/quant/dequantize.h"
#include "tensor/tensor_view.h"

namespace kvasir::ops {

inline std::vector<float> random_floats(std::size_t n, std::mt19937& random, float deviation = 1) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> x(n);
  for (float& value : x) value = normal(random);
  return x;
}

// Byte offsets of the f16 fields in a block.
inline std::vector<int> half_fields(tensor::DType type) {
  using tensor::DType;
  switch (type) {
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    default:
      return {0};
  }
}

// A matrix of random blocks whose numbers are finite and about as large as a model's.
struct RandomMatrix {
  std::vector<std::byte> bytes;
  tensor::TensorView view;

  RandomMatrix(tensor::DType type, std::int64_t rows, std::int64_t cols, std::mt19937& random) {
    const tensor::DTypeInfo& info = tensor::info(type);
    bytes.resize(static_cast<std::size_t>(tensor::bytes_of(type, rows * cols)));
    if (type == tensor::DType::f32) {
      const std::vector<float> x = random_floats(bytes.size() / 4, random, 0.05f);
      std::memcpy(bytes.data(), x.data(), bytes.size());
    } else if (type == tensor::DType::bf16) {
      for (std::size_t i = 0; i < bytes.size(); i += 2)
        put(i, f32_to_bf16(random_floats(1, random, 0.05f)[0]));
    } else {
      for (std::byte& b : bytes) b = static_cast<std::byte>(random());
      for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(info.block_bytes)) {
        for (int at : half_fields(type)) {
          put(i + static_cast<std::size_t>(at), f32_to_f16(random_floats(1, random, 0.01f)[0]));
        }
      }
    }
    view = {bytes.data(), type, {rows, cols}};
  }

  std::vector<float> floats() const {
    std::vector<float> x(static_cast<std::size_t>(tensor::num_elems(view.shape)));
    dequantize(view.type, bytes.data(), x);
    return x;
  }

 private:
  void put(std::size_t at, std::uint16_t bits) { std::memcpy(&bytes[at], &bits, 2); }
};

}  // namespace kvasir::ops
