#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::text {

// Sentencepiece's compiled normalization: spellings, in a trie that is a double array, and their
// replacements. Immutable.
class CharsMap {
 public:
  // Parses the bytes that tokenizer.json and sentencepiece models store.
  static base::Result<CharsMap> parse(std::string_view bytes);

  // Normalizes as Hugging Face's library does. A short cluster of characters is replaced as a whole if its
  // beginning has a replacement; otherwise each of its characters is replaced on its own. `text` is valid
  // UTF-8.
  std::string normalize(std::string_view text) const;
  // Returns the size of the longest replacement in bytes.
  std::size_t longest_replacement() const;

 private:
  CharsMap(std::vector<std::uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  // Appends the replacement of the shortest spelling with which `text` begins. Returns false if there is
  // none.
  bool append_replacement(std::string_view text, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

// Decodes standard base64 with padding.
base::Result<std::string> decode_base64(std::string_view text);

}  // namespace kvasir::text
