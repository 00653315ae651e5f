#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::text {

// Sentencepiece's compiled normalization: a trie of spellings (a double array) and what each becomes.
// Immutable.
class CharsMap {
 public:
  // The bytes that tokenizer.json and sentencepiece models store.
  static base::Result<CharsMap> parse(std::string_view bytes);

  // As Hugging Face's library does it: a short cluster of characters becomes what its beginning maps to,
  // otherwise each character is mapped by itself. `text` is valid UTF-8.
  std::string normalize(std::string_view text) const;
  // In bytes.
  std::size_t longest_replacement() const;

 private:
  CharsMap(std::vector<std::uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  // Of the shortest spelling that `text` begins with. False where there is none.
  bool append_replacement(std::string_view text, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

// Standard base64 with its padding.
base::Result<std::string> decode_base64(std::string_view text);

}  // namespace kvasir::text
