#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "ops/cuda/product_wide.h"

namespace kvasir::ops::cuda {

// How products of each shape are computed, as measured before on such a GPU, in a file. A file that cannot be
// read or written costs time alone: products are measured again.
class ProductWays {
 public:
  using Key = std::array<std::int64_t, 4>;  // rows, outputs, columns, and kinds of numbers
  struct Way {
    std::array<std::uint64_t, 8> algorithm{};  // the library's
    std::optional<WideShape> own;              // instead of it
    bool operator==(const Way& other) const;
  };

  // Reads the file if its first line is `title`: what the measurements depend on. An empty path: nothing is
  // kept.
  ProductWays(std::filesystem::path file, std::string title);

  const Way* find(const Key& key) const;
  void keep(const Key& key, const Way& way);
  // Writes the file if something was kept since. Several processes may do so: one of them wins.
  void save();

 private:
  const std::filesystem::path file_;
  const std::string title_;
  std::map<Key, Way> ways_;
  bool has_new_ = false;
};

}  // namespace kvasir::ops::cuda
