#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/file/gguf_file.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// Writes a GGUF file (version 3) piece by piece, so that the weights are never in memory as a whole: first
// the keys and the tensors' names, types and shapes, then `begin`, then the tensors' bytes in the order in
// which they were declared, then `finish`. The file gets its name only when it is complete. Used by one
// thread.
class GgufWriter {
 public:
  static base::Result<GgufWriter> create(const std::filesystem::path& path);
  GgufWriter(GgufWriter&&) noexcept;
  GgufWriter& operator=(GgufWriter&&) = delete;
  // Removes an unfinished file.
  ~GgufWriter();

  void key(std::string_view name, std::string_view text);
  void key(std::string_view name, std::uint32_t number);
  void key(std::string_view name, float number);
  void key_bool(std::string_view name, bool value);
  void key(std::string_view name, std::span<const std::string> texts);
  void key(std::string_view name, std::span<const std::int32_t> numbers);
  void key(std::string_view name, std::span<const float> numbers);
  // Copies a key and its value from another file.
  void copy_key(const GgufKey& key);
  // `shape` has the outermost dimension first, as everywhere in Kvasir.
  void declare(std::string_view name, tensor::DType type, const tensor::Shape& shape);

  base::Status begin();
  // Writes the next bytes of the current tensor. A tensor may come in several pieces.
  base::Status write(std::span<const std::byte> bytes);
  base::Status finish();

 private:
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  GgufWriter(std::filesystem::path path, std::filesystem::path part, std::FILE* file);
  void begin_key(std::string_view name, std::uint32_t type);
  base::Status put(const void* bytes, std::size_t size);
  base::Status pad(std::uint64_t size);

  std::filesystem::path path_;
  std::filesystem::path part_;  // empty once finished or moved from
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::string keys_;
  std::string tensors_;
  std::uint64_t num_keys_ = 0;
  std::uint64_t next_offset_ = 0;
  std::vector<std::uint64_t> sizes_;  // of the declared tensors
  std::size_t current_ = 0;           // the tensor that is being written
  std::uint64_t written_ = 0;         // bytes of that tensor
};

}  // namespace kvasir::model
