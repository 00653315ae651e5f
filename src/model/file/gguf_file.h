#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/file/mapped_file.h"
#include "model/file/weight_file.h"

namespace kvasir::model {

// Returns GGUF's code for a type.
std::uint32_t gguf_type_code(tensor::DType type);

// A key and its value, as the file stores them.
struct GgufKey {
  std::string_view name;
  std::span<const std::byte> bytes;  // of the key, its name included
};

// A GGUF checkpoint, version 2 or 3, little-endian.
class GgufFile final : public WeightFile {
 public:
  // Reads the header only; the weights stay on disk until they are touched.
  static base::Result<std::unique_ptr<GgufFile>> open(const std::filesystem::path& path);

  base::Result<tensor::TensorView> find(std::string_view name) const override;
  base::Result<RawTensor> find_raw(std::string_view name) const override;
  bool contains(std::string_view name) const override { return tensors_.contains(name); }
  std::vector<std::string_view> names() const override;
  const Metadata& metadata() const override { return metadata_; }
  void release_pages() const override { file_.release_pages(); }
  std::span<const GgufKey> keys() const { return keys_; }

 private:
  explicit GgufFile(MappedFile file) : file_(std::move(file)) {}
  base::Status read();

  MappedFile file_;
  Metadata metadata_;
  std::vector<GgufKey> keys_;  // in the file's order
  std::map<std::string_view, tensor::TensorView> tensors_;
};

}  // namespace kvasir::model
