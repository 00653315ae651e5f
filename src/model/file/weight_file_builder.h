#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::model {

// Puts together the bytes of a small GGUF file for a test.
class GgufBuilder {
 public:
  GgufBuilder& key(std::string_view name, std::string_view text) {
    begin_key(name, 8);
    put_string(keys_, text);
    return *this;
  }
  GgufBuilder& key(std::string_view name, std::uint32_t number) {
    begin_key(name, 4);
    put(keys_, number);
    return *this;
  }
  GgufBuilder& flag(std::string_view name, bool value) {
    begin_key(name, 7);
    put(keys_, static_cast<std::uint8_t>(value));
    return *this;
  }
  GgufBuilder& key(std::string_view name, float number) {
    begin_key(name, 6);
    put(keys_, number);
    return *this;
  }
  GgufBuilder& key(std::string_view name, const std::vector<std::string>& texts) {
    begin_key(name, 9);
    put(keys_, std::uint32_t{8});
    put(keys_, std::uint64_t{texts.size()});
    for (const std::string& text : texts) put_string(keys_, text);
    return *this;
  }
  GgufBuilder& key(std::string_view name, const std::vector<std::int32_t>& numbers) {
    begin_key(name, 9);
    put(keys_, std::uint32_t{5});
    put(keys_, std::uint64_t{numbers.size()});
    for (const std::int32_t number : numbers) put(keys_, number);
    return *this;
  }
  // `dims` are in GGUF's order: the innermost comes first.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                      std::string_view data) {
    put_string(tensors_, name);
    put(tensors_, static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) put(tensors_, dim);
    put(tensors_, type);
    put(tensors_, std::uint64_t{data_.size()});
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++num_tensors_;
    return *this;
  }

  std::string build(std::uint32_t version = 3) const {
    std::string file = "GGUF";
    put(file, version);
    put(file, num_tensors_);
    put(file, num_keys_);
    file += keys_;
    file += tensors_;
    file.resize((file.size() + 31) / 32 * 32);
    return file + data_;
  }

 private:
  template <class T>
  static void put(std::string& out, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  }
  static void put_string(std::string& out, std::string_view text) {
    put(out, std::uint64_t{text.size()});
    out += text;
  }
  void begin_key(std::string_view name, std::uint32_t type) {
    put_string(keys_, name);
    put(keys_, type);
    ++num_keys_;
  }

  std::string keys_, tensors_, data_;
  std::uint64_t num_keys_ = 0;
  std::uint64_t num_tensors_ = 0;
};

inline std::string safetensors(std::string_view header, std::string_view data) {
  const std::uint64_t size = header.size();
  std::string file(sizeof(size), '\0');
  std::memcpy(file.data(), &size, sizeof(size));
  file += header;
  file += data;
  return file;
}

inline std::string float_bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A temporary directory for one test. It is removed when this object is destroyed.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    // The directory is in memory if possible, because the mutation tests write thousands of files.
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = std::filesystem::is_directory(memory);
    std::string pattern =
        (in_memory ? memory : std::filesystem::temp_directory_path()) / "kvasir_model_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::ssize(bytes));
    return path;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kvasir::model
