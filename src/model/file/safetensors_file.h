#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/file/mapped_file.h"
#include "model/file/weight_file.h"

namespace kvasir::model {

// A safetensors checkpoint: one file, or shards with an index.
class SafetensorsFile final : public WeightFile {
 public:
  static base::Result<std::unique_ptr<SafetensorsFile>> open(const std::filesystem::path& path);
  // Opens the checkpoint of a model directory: model.safetensors, or model.safetensors.index.json and its
  // shards.
  static base::Result<std::unique_ptr<SafetensorsFile>> open_directory(const std::filesystem::path& path);

  base::Result<tensor::TensorView> find(std::string_view name) const override;
  base::Result<RawTensor> find_raw(std::string_view name) const override;
  bool contains(std::string_view name) const override { return tensors_.find(name) != tensors_.end(); }
  std::vector<std::string_view> names() const override;
  const Metadata& metadata() const override { return metadata_; }
  void release_pages() const override {
    for (const MappedFile& file : files_) file.release_pages();
  }

 private:
  // A tensor of a type that Kvasir does not run is an error only when it is asked for: checkpoints carry
  // integer buffers that nobody needs.
  struct Entry {
    std::string stored_type;
    std::optional<tensor::DType> type;
    tensor::Shape shape;
    const std::byte* data = nullptr;
  };

  SafetensorsFile() = default;
  base::Status add_file(const std::filesystem::path& path);
  base::Status add_index(const std::filesystem::path& path);

  std::vector<MappedFile> files_;
  Metadata metadata_;
  std::map<std::string, Entry, std::less<>> tensors_;
};

}  // namespace kvasir::model
