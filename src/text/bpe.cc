#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/utf8.h"

namespace kvasir::text {
namespace {

std::uint64_t key_of(TokenId left, TokenId right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
}

constexpr std::size_t kShort = 32;

// std's heaps keep the largest on top; ours the lowest rank, then the leftmost.
bool later(const Bpe::Workspace::Candidate& a, const Bpe::Workspace::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

MergeTable::MergeTable(std::size_t num_merges) : slots_(std::bit_ceil(num_merges * 2 + 2)) {}

std::size_t MergeTable::first_slot(std::uint64_t key) const {
  key *= 0x9E3779B97F4A7C15ull;
  return (key ^ (key >> 32)) & (slots_.size() - 1);
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  const std::uint64_t key = key_of(left, right);
  std::size_t at = first_slot(key);
  while (slots_[at].key != kEmpty) {
    if (slots_[at].key == key) return;
    at = (at + 1) & (slots_.size() - 1);
  }
  slots_[at] = {key, merge};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
  const std::uint64_t key = key_of(left, right);
  for (std::size_t at = first_slot(key); slots_[at].key != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].key == key) return &slots_[at].merge;
  }
  return nullptr;
}

Bpe::Bpe(const TokenTable& table, MergeTable merges, Options options)
    : table_(table), merges_(std::move(merges)), options_(options) {
  byte_tokens_.fill(-1);
  for (TokenId id = 0; id < table.size(); ++id) {
    if (table.type(id) == TokenType::byte) byte_tokens_[static_cast<unsigned char>(table.bytes(id)[0])] = id;
  }
  if (options.alphabet == Alphabet::characters) return;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (const auto id = table.find_piece({&c, 1})) byte_tokens_[byte] = *id;
  }
}

void Bpe::encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const {
  if (options_.ignore_merges) {
    if (const auto whole = table_.find_piece(word)) {
      out.push_back(*whole);
      return;
    }
  }
  work.symbols.clear();
  add_symbols(word, work);
  if (work.symbols.size() <= kShort) {
    merge_short(work);
  } else {
    merge_long(work);
  }
  for (const auto& symbol : work.symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

// Looks at every pair for each merge: quadratic, and for the usual word faster than a heap.
void Bpe::merge_short(Workspace& work) const {
  auto& symbols = work.symbols;
  auto& pairs = work.pairs;
  const auto pair_at = [&](std::size_t i) {
    const auto* merge = i + 1 < symbols.size() ? merges_.find(symbols[i].id, symbols[i + 1].id) : nullptr;
    return merge != nullptr ? *merge : MergeTable::Merge{};
  };
  pairs.clear();
  for (std::size_t i = 0; i < symbols.size(); ++i) pairs.push_back(pair_at(i));
  while (true) {
    const auto best = std::min_element(pairs.begin(), pairs.end(),
                                       [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (best == pairs.end() || best->rank == MergeTable::kNoRank) return;
    const auto at = best - pairs.begin();
    symbols[at].id = best->result;
    symbols.erase(symbols.begin() + at + 1);
    pairs.erase(best);
    pairs[at] = pair_at(at);
    if (at > 0) pairs[at - 1] = pair_at(at - 1);
  }
}

void Bpe::merge_long(Workspace& work) const {
  work.heap.clear();
  const auto num_symbols = static_cast<std::int32_t>(work.symbols.size());
  for (std::int32_t i = 0; i < num_symbols; ++i) {
    work.symbols[i].previous = i - 1;
    work.symbols[i].next = i + 1 < num_symbols ? i + 1 : -1;
  }
  for (std::int32_t i = 0; i + 1 < num_symbols; ++i) push_candidate(i, work);
  std::make_heap(work.heap.begin(), work.heap.end(), later);
  constexpr unsigned kLooks = 4096;  // merges between two looks at `stop`
  for (unsigned i = 0; !work.heap.empty(); ++i) {
    if (i % kLooks == 0 && work.stop.stop_requested()) return;
    std::pop_heap(work.heap.begin(), work.heap.end(), later);
    const Workspace::Candidate best = work.heap.back();
    work.heap.pop_back();
    auto& left = work.symbols[best.left];
    // A merge since then has changed one of the two.
    if (left.id != best.left_id || left.next != best.right) continue;
    if (work.symbols[best.right].id != best.right_id) continue;
    left.id = best.result;
    work.symbols[best.right].id = -1;
    left.next = work.symbols[best.right].next;
    if (left.next >= 0) work.symbols[left.next].previous = best.left;
    for (const std::int32_t changed : {left.previous, best.left}) {
      const std::size_t before = work.heap.size();
      if (changed >= 0) push_candidate(changed, work);
      if (work.heap.size() > before) std::push_heap(work.heap.begin(), work.heap.end(), later);
    }
  }
}

void Bpe::push_candidate(std::int32_t left, Workspace& work) const {
  const auto& symbol = work.symbols[left];
  if (symbol.next < 0) return;
  const TokenId right_id = work.symbols[symbol.next].id;
  const auto* merge = merges_.find(symbol.id, right_id);
  if (merge == nullptr) return;
  work.heap.push_back({merge->rank, left, symbol.next, symbol.id, right_id, merge->result});
}

void Bpe::add_symbols(std::string_view word, Workspace& work) const {
  if (options_.alphabet == Alphabet::bytes) {
    for (const char c : word) {
      const TokenId id = byte_tokens_[static_cast<unsigned char>(c)];
      if (id >= 0) {
        work.symbols.push_back({.id = id});
      } else {
        add_unspelled({&c, 1}, work);
      }
    }
    return;
  }
  while (!word.empty()) {
    const std::string_view character = word.substr(0, base::utf8_step(word).size);
    if (const auto id = table_.find_piece(character)) {
      work.symbols.push_back({.id = *id});
    } else {
      add_unspelled(character, work);
    }
    word.remove_prefix(character.size());
  }
}

void Bpe::add_unspelled(std::string_view character, Workspace& work) const {
  const bool has_bytes = std::all_of(character.begin(), character.end(), [this](char c) {
    return byte_tokens_[static_cast<unsigned char>(c)] >= 0;
  });
  if (has_bytes) {
    for (const char c : character)
      work.symbols.push_back({.id = byte_tokens_[static_cast<unsigned char>(c)]});
    return;
  }
  if (!options_.unk) return;
  // A run of unknown characters is one unknown token.
  if (!work.symbols.empty() && work.symbols.back().id == *options_.unk) return;
  work.symbols.push_back({.id = *options_.unk});
}

base::Status MergeRanker::add(const Sides& sides, std::string_view written) {
  if (!sides.left || !sides.right || !sides.result) {
    const char* missing = !sides.left ? "left side" : !sides.right ? "right side" : "result";
    return base::error(base::ErrorCode::corrupt, "the {} of merge {} (\"{}\") is no token of the vocabulary",
                       missing, rank_, written);
  }
  ranked_.insert(*sides.left, *sides.right, {.rank = rank_++, .result = *sides.result});
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
    const std::string_view piece = table.bytes(id);
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
  }
  return ranked;
}

}  // namespace kvasir::text
