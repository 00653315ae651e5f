#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"
#include "ops/draw/row_draw.h"
#include "ops/types/activation.h"
#include "tensor/dtype.h"

// What a step computes on its rows besides products and attention. `type` is f32 or bf16, all arithmetic is
// in f32, and every number of columns is a multiple of 8.
namespace kvasir::ops::cuda {

// A null weight means that there is no norm. If there is a bias, the mean is subtracted first.
struct NormWeights {
  const float* weight = nullptr;  // [dim]
  const float* bias = nullptr;    // [dim]
};

// hidden += scale * post_norm(branch), then out = norm(hidden). Parts that are not set are left out.
struct AddNormArgs {
  tensor::DType type = tensor::DType::bf16;
  int rows = 0;
  int dim = 0;  // at most 32768
  float eps = 1e-5f;
  void* hidden = nullptr;        // [.., dim]
  const void* branch = nullptr;  // [rows, dim], or null: hidden does not change
  NormWeights post_norm;
  float scale = 1;
  NormWeights norm;
  void* out = nullptr;                    // [rows, dim]; may be the same as hidden
  float* out_scales = nullptr;            // [rows]; if set, out is quantised
  const std::int32_t* row_ids = nullptr;  // [rows]: row r of out is row row_ids[r] of hidden; null: row r
};
void add_norm(StreamHandle stream, const AddNormArgs& args);

// Normalises `count` vectors of each row in place.
struct NormVectorsArgs {
  tensor::DType type = tensor::DType::bf16;
  int rows = 0;
  int count = 0;
  int dim = 0;
  std::int64_t row_stride = 0;  // in numbers
  float eps = 1e-5f;
  NormWeights norm;
  void* x = nullptr;
};
void norm_vectors(StreamHandle stream, const NormVectorsArgs& args);

// y = activation(gate) * up with x = [gate, up], or y = activation(x).
struct ActivateArgs {
  tensor::DType type = tensor::DType::bf16;
  Activation activation = Activation::silu;
  enum class Form : std::uint8_t { gated, plain } form = Form::gated;
  int rows = 0;
  int inner = 0;
  const void* x = nullptr;    // [rows, 2 * inner], or [rows, inner]
  void* y = nullptr;          // [rows, inner]
  float* y_scales = nullptr;  // [rows]; if set, y is quantised, x must be bf16, and inner at most 65536
};
void activate(StreamHandle stream, const ActivateArgs& args);

// y = x / scale as e4m3. Each row has a scale, which brings the row's largest number to the end of e4m3's
// range.
struct QuantizeArgs {
  std::int64_t rows = 0;
  int dim = 0;              // at most 65536
  const void* x = nullptr;  // [rows, dim], as bf16
  void* y = nullptr;
  float* y_scales = nullptr;  // [rows]
};
void quantize_rows(StreamHandle stream, const QuantizeArgs& args);

struct EmbedArgs {
  tensor::DType type = tensor::DType::bf16;
  int rows = 0;
  int dim = 0;
  float scale = 1;
  const void* table = nullptr;           // [vocab, dim]
  const void* position_table = nullptr;  // [context, dim], or null
  const std::int32_t* tokens = nullptr;  // [rows]; a negative number -1 - i means the token of drawn[i]
  const RowDrawn* drawn = nullptr;
  const std::int32_t* positions = nullptr;  // [rows]
  void* y = nullptr;                        // [rows, dim]
};
void embed(StreamHandle stream, const EmbedArgs& args);

// x = cap(factor * x), where cap(x) = softcap * tanh(x / softcap), or x if softcap is 0.
void scale_and_cap(StreamHandle stream, float* x, std::int64_t count, float factor, float softcap);

// Fills x with random numbers between -bound and bound. The same seed gives the same numbers.
void fill_random(StreamHandle stream, tensor::DType type, void* x, std::int64_t count, float bound,
                 std::uint32_t seed);

}  // namespace kvasir::ops::cuda
