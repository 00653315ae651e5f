#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "ops/cuda/product_wide.h"

namespace kvasir::ops::cuda {

// A file of the fastest ways to compute products of each shape, as measured before on a GPU of this kind. A
// file that cannot be read or written costs only time: products are measured again.
class ProductWays {
 public:
  using Key = std::array<std::int64_t, 4>;  // rows, outputs, columns, and kinds of numbers
  struct Way {
    std::array<std::uint64_t, 8> algorithm{};  // cuBLASLt's algorithm
    std::optional<WideShape> own;              // if set, used instead of the algorithm
    bool operator==(const Way& other) const;
  };

  // Reads the file if its first line is `title`, which names what the measurements depend on. With an empty
  // path, nothing is read or written.
  ProductWays(std::filesystem::path file, std::string title);

  const Way* find(const Key& key) const;
  void keep(const Key& key, const Way& way);
  // Writes the file if something was kept since it was read. Several processes may write at once: one of them
  // wins.
  void save();

 private:
  const std::filesystem::path file_;
  const std::string title_;
  std::map<Key, Way> ways_;
  bool has_new_ = false;
};

}  // namespace kvasir::ops::cuda
