#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/checkpoint/checkpoint.h"
#include "model/file/gguf_writer.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// A tensor to be written to a GGUF file, and where its numbers come from.
struct GgufTensor {
  std::string name;
  tensor::Shape shape;
  std::vector<tensor::TensorView> pieces;  // their rows are stacked; all have one type and width
  std::vector<float> computed;             // instead of pieces
  int paired_heads = 0;                    // above 0: each head's rows are in the order 0, d/2, 1, d/2 + 1, …
  bool transposed = false;                 // there is one piece, stored as [in, out]
  float offset = 0;                        // added to every number

  std::int64_t rows() const { return shape.size() < 2 ? 1 : tensor::num_elems(shape) / shape.back(); }
  std::int64_t cols() const { return shape.back(); }
  // Whether the tensor's numbers are those of its only piece, unchanged.
  bool is_copy() const { return pieces.size() == 1 && paired_heads == 0 && !transposed && offset == 0; }
  std::int64_t stored_bytes() const;
  void read_row(std::int64_t row, std::span<float> out /* [cols] */) const;
};

// Converts a safetensors checkpoint as llama.cpp's converter would: its names, keys, vocabulary, and changes
// to the numbers. Fails with `unsupported` for anything that GGUF cannot express, for latent attention, and
// for packed weights. The tensors point into the checkpoint.
base::Result<std::vector<GgufTensor>> gguf_tensors(const Checkpoint& checkpoint);
base::Status write_gguf_keys(const Checkpoint& checkpoint, const std::filesystem::path& directory,
                             GgufWriter& writer);

}  // namespace kvasir::model
