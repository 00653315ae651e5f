#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/file/metadata.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// A tensor of any stored type. `type` is the format's name of that type.
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
  // Also finds tensors of types that Kvasir does not run. The caller knows how to read them.
  virtual base::Result<RawTensor> find_raw(std::string_view name) const = 0;
  virtual bool contains(std::string_view name) const = 0;
  virtual std::vector<std::string_view> names() const = 0;
  // Returns GGUF's key-value part. It is empty for a format that keeps such facts in separate files.
  virtual const Metadata& metadata() const = 0;
  // Frees the memory of the pages that were read so far. Reading a page again loads it from the file.
  virtual void release_pages() const = 0;
};

}  // namespace kvasir::model
