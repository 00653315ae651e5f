#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::text {

// The members of one long list or object in tokenizer.json. They are kept without a JSON value for each.
class SourceRows {
 public:
  // A member: up to two texts (the first may be its key), and a number.
  struct Row {
    std::uint32_t first_begin = 0;
    std::uint32_t first_size = 0;
    std::uint32_t second_begin = 0;
    std::uint32_t second_size = 0;
    double number = 0;
    std::uint8_t num_texts = 0;
    std::uint8_t num_numbers = 0;
    bool is_list = false;
    bool is_integer = false;
    bool is_other = false;  // has other content too, or has it in another order
  };

  enum class Kind { absent, object, array };
  bool is_object() const { return kind_ == Kind::object; }
  bool is_array() const { return kind_ == Kind::array; }
  const std::vector<Row>& rows() const { return rows_; }
  std::string_view first(const Row& row) const { return view(row.first_begin, row.first_size); }
  std::string_view second(const Row& row) const { return view(row.second_begin, row.second_size); }

 private:
  friend class RowCollector;

  std::string_view view(std::uint32_t begin, std::uint32_t size) const {
    return std::string_view(texts_).substr(begin, size);
  }

  Kind kind_ = Kind::absent;
  std::vector<Row> rows_;
  std::string texts_;
};

// A tokenizer.json. The vocabulary and the merges, which are nearly all of the file, are read separately and
// are null in `rest`.
struct TokenizerSource {
  base::json::object rest;
  SourceRows vocab;
  SourceRows merges;
};

// Reads a tokenizer.json. Fails with `corrupt` if it is not JSON, or larger than any vocabulary.
base::Result<TokenizerSource> read_source(std::string_view tokenizer_json);

}  // namespace kvasir::text
