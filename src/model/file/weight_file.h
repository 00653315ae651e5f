#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/file/metadata.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// A tensor of any stored type. `type` is the format's own name of it.
struct RawTensor {
  std::string_view type;
  tensor::Shape shape;
  const std::byte* data = nullptr;
};

// Named tensors of a checkpoint, whatever its format. Views stay valid while the file lives. Immutable once
// open, so any thread may read. Every view has been checked: its bytes are inside the file and aligned for
// its type, and its rows are whole blocks.
class WeightFile {
 public:
  virtual ~WeightFile() = default;

  virtual base::Result<tensor::TensorView> find(std::string_view name) const = 0;
  // Also finds types that Kvasir does not run; the caller knows how to read them.
  virtual base::Result<RawTensor> find_raw(std::string_view name) const = 0;
  virtual bool contains(std::string_view name) const = 0;
  virtual std::vector<std::string_view> names() const = 0;
  // GGUF's key-value part; empty for formats that keep it in separate files.
  virtual const Metadata& metadata() const = 0;
  // Frees the memory of what was read so far. Reading it again loads it from the file.
  virtual void release_pages() const = 0;
};

}  // namespace kvasir::model
