#include "text/tokenizer/word_piece.h"

#include <algorithm>

#include "base/utf8.h"

namespace kvasir::text {

WordPiece::WordPiece(const TokenTable& table, Options options) : table_(table), options_(std::move(options)) {
  for (TokenId id = 0; id < table.size(); ++id) longest_ = std::max(longest_, table.spelling(id).size());
}

void WordPiece::encode(std::string_view word, Workspace&, std::vector<TokenId>& out) const {
  constexpr std::size_t kMaxCharacterBytes = 4;
  if (word.size() > kMaxCharacterBytes * static_cast<std::size_t>(options_.max_characters)) {
    if (options_.unk) out.push_back(*options_.unk);
    return;
  }
  std::vector<std::size_t> ends;  // of the characters
  for (std::size_t at = 0; at < word.size(); ends.push_back(at)) at += base::utf8_step(word.substr(at)).size;
  const std::size_t before = out.size();
  bool known = static_cast<int>(ends.size()) <= options_.max_characters;
  std::size_t begin = 0;
  std::size_t first = 0;  // index of the character that begins there
  std::string spelling;
  while (known && first < ends.size()) {
    std::optional<TokenId> found;
    // A character has at least one byte, so this many characters are enough.
    std::size_t last = std::min(ends.size(), first + longest_);
    for (; last > first && !found; --last) {
      spelling = begin == 0 ? std::string() : options_.continuing_prefix;
      spelling += word.substr(begin, ends[last - 1] - begin);
      found = table_.find_piece(spelling);
      if (found) {
        out.push_back(*found);
        begin = ends[last - 1];
      }
    }
    known = found.has_value();
    first = last + 1;
  }
  if (known) return;
  out.resize(before);
  if (options_.unk) out.push_back(*options_.unk);
}

}  // namespace kvasir::text
