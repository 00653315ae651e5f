#include "text/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>

#include "base/utf8.h"

namespace kvasir::text {

// There are at least five slots for three merges. A smaller table would fit the caches better, but a fuller
// one takes longer to search.
MergeTable::MergeTable(std::size_t num_merges)
    : filled_(std::bit_ceil(num_merges * 5 / 3 + 2)), slots_(filled_) {}

base::Result<MergeTable> MergeTable::from_slots(Stored stored, int num_tokens) {
  const auto corrupt = [] { return base::error(base::ErrorCode::corrupt, "the table of merges is none"); };
  if (!std::has_single_bit(stored.slots.size())) return corrupt();
  const auto is_token = [num_tokens](std::uint64_t id) {
    return id < static_cast<std::uint64_t>(num_tokens);
  };
  MergeTable table(0);
  std::size_t num_merges = 0;
  for (const Slot& slot : stored.slots) {
    if (slot.key == kEmpty) continue;
    ++num_merges;
    const auto result = static_cast<std::uint32_t>(slot.merge.result);
    if (!is_token(slot.key >> 32) || !is_token(slot.key & 0xFFFFFFFFu) || !is_token(result) ||
        slot.merge.rank >= stored.slots.size())
      return corrupt();
    table.num_ranks_ = std::max(table.num_ranks_, slot.merge.rank + 1);
  }
  if (num_merges == stored.slots.size()) return corrupt();
  table.slots_ = stored.slots;
  table.owner_ = std::move(stored.owner);
  table.keeps_space_marks_first_ = stored.keeps_space_marks_first;
  return table;
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  const std::uint64_t key = key_of(left, right);
  std::size_t at = first_slot(key);
  while (filled_[at].key != kEmpty) {
    if (filled_[at].key == key) return;
    at = (at + 1) & (filled_.size() - 1);
  }
  filled_[at] = {key, merge};
  num_ranks_ = std::max(num_ranks_, merge.rank + 1);
}

base::Status MergeRanker::add(const Sides& sides) {
  if (!sides.left_id || !sides.right_id || !sides.result_id) {
    const char* missing = !sides.left_id ? "left side" : !sides.right_id ? "right side" : "result";
    return base::error(base::ErrorCode::corrupt,
                       "the {} of merge {} (\"{} {}\") is no token of the vocabulary", missing, rank_,
                       sides.left, sides.right);
  }
  ranked_.insert(*sides.left_id, *sides.right_id, {.rank = rank_++, .result = *sides.result_id});
  ranked_.note_spelling(sides.left, sides.right);
  return base::ok();
}

MergeTable merges_by_score(const TokenTable& table, const std::vector<float>& scores) {
  struct Scored {
    TokenId left;
    TokenId right;
    TokenId result;
  };
  std::vector<Scored> found;
  for (TokenId id = 0; id < table.size(); ++id) {
    if (table.type(id) != TokenType::normal) continue;
    const std::string_view piece = table.spelling(id);
    for (std::size_t cut = base::utf8_step(piece.empty() ? "x" : piece).size; cut < piece.size();
         cut += base::utf8_step(piece.substr(cut)).size) {
      const auto left = table.find_piece(piece.substr(0, cut));
      const auto right = left ? table.find_piece(piece.substr(cut)) : std::nullopt;
      if (left && right) found.push_back({*left, *right, id});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const Scored& a, const Scored& b) { return scores[a.result] > scores[b.result]; });
  MergeTable ranked(found.size());
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0 && scores[found[i].result] != scores[found[i - 1].result]) ++rank;
    ranked.insert(found[i].left, found[i].right, {.rank = rank, .result = found[i].result});
    ranked.note_spelling(table.spelling(found[i].left), table.spelling(found[i].right));
  }
  return ranked;
}

}  // namespace kvasir::text
