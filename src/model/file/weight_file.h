#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/file/metadata.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// A tensor of any stored type, by the format's own name of it.
struct RawTensor {
  std::string_view type;
  tensor::Shape shape;
  const std::byte* data = nullptr;
};

// Named tensors of a checkpoint, whatever its format. Views stay valid while the file lives. Immutable
// once open, so any thread may read. What a view promises (its bytes are inside the file, aligned for its
// type, rows are whole blocks) was checked against the file.
class WeightFile {
 public:
  virtual ~WeightFile() = default;

  virtual base::Result<tensor::TensorView> find(std::string_view name) const = 0;
  // Also of types that Kvasir does not run; who asks knows what to make of them.
  virtual base::Result<RawTensor> find_raw(std::string_view name) const = 0;
  virtual bool contains(std::string_view name) const = 0;
  virtual std::vector<std::string_view> names() const = 0;
  // GGUF's key-value part; empty for formats that keep it in files of their own.
  virtual const Metadata& metadata() const = 0;
  // Gives back the memory of what was read so far; what is read again comes from the file again.
  virtual void release_pages() const = 0;
};

}  // namespace kvasir::model
