#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace kvasir::model {

// Strings are views into the file and hold arbitrary bytes.
using MetadataValue =
    std::variant<bool, std::int64_t, double, std::string_view, std::vector<std::string_view>,
                 std::vector<std::int64_t>, std::vector<double>>;

// The key-value part of a weight file. A getter returns nothing if the key is absent or its value has another
// kind.
class Metadata {
 public:
  // Returns false if the key is already there.
  bool add(std::string_view key, MetadataValue value);

  bool contains(std::string_view key) const { return values_.contains(key); }
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;  // also if it is stored as an integer
  std::optional<std::string_view> string(std::string_view key) const;
  const std::vector<std::string_view>* strings(std::string_view key) const;
  const std::vector<std::int64_t>* integers(std::string_view key) const;
  const std::vector<double>* numbers(std::string_view key) const;

 private:
  template <class T>
  const T* find(std::string_view key) const;

  std::map<std::string_view, MetadataValue> values_;
};

}  // namespace kvasir::model
