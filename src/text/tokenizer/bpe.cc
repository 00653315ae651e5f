#include "text/tokenizer/bpe.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/byte_level.h"

namespace kvasir::text {
namespace {

constexpr std::size_t kShort = 32;
constexpr std::size_t kWindow = 64;
// Symbols at a window's end that are not final, since they could still merge with symbols after the window.
constexpr std::size_t kWindowTail = 16;

using Candidate = Workspace::Candidate;

bool is_left_of(const Candidate& a, const Candidate& b) {
  return a.left < b.left;
}

// std's heaps keep the largest element on top, so the comparison is reversed.
bool is_right_of(const Candidate& a, const Candidate& b) {
  return a.left > b.left;
}

}  // namespace

Bpe::Bpe(const TokenTable& table, MergeTable merges, Options options)
    : table_(table), merges_(std::move(merges)), options_(options) {
  cuts_at_space_marks_ = options.alphabet == Alphabet::characters && !options.ignore_merges &&
                         merges_.keeps_space_marks_first() && table.find_piece(kSpaceMark).has_value();
  byte_tokens_.fill(-1);
  for (TokenId id = 0; id < table.size(); ++id) {
    if (table.type(id) == TokenType::byte)
      byte_tokens_[static_cast<unsigned char>(*byte_of_name(table.spelling(id)))] = id;
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
  if (word.size() <= kShort) return encode_part(word, work, out);
  // The word is cut at positions that no merge can cross. Unknown tokens may still fuse across a cut.
  const std::size_t before = out.size();
  std::size_t begin = 0;
  for (std::size_t at = 1; at < word.size(); ++at) {
    if (may_join(word[at - 1], word[at])) continue;
    encode_part(word.substr(begin, at - begin), work, out);
    begin = at;
    if (work.stop.stop_requested()) return;
  }
  encode_part(word.substr(begin), work, out);
  if (!options_.unk || !options_.fuse_unk) return;
  const auto joined = [this](TokenId a, TokenId b) { return a == b && a == *options_.unk; };
  out.erase(std::unique(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), joined), out.end());
}

bool Bpe::may_join(char left, char right) const {
  std::call_once(found_joints_, [this] { find_joints(); });
  return joints_[static_cast<unsigned char>(left) << 8 | static_cast<unsigned char>(right)];
}

void Bpe::find_joints() const {
  const auto join = [this](std::string_view left, std::string_view right) {
    if (left.empty() || right.empty()) return;
    joints_.set(static_cast<unsigned char>(left.back()) << 8 | static_cast<unsigned char>(right.front()));
  };
  merges_.for_each_pair(
      [&](TokenId left, TokenId right) { join(table_.spelling(left), table_.spelling(right)); });
  if (options_.alphabet == Alphabet::bytes) return;
  // A character is one symbol, so a word is never cut before a continuation byte.
  for (int left = 0; left < 256; ++left) {
    for (int right = 0x80; right < 0xC0; ++right) joints_.set(static_cast<std::size_t>(left << 8 | right));
  }
}

void Bpe::encode_part(std::string_view word, Workspace& work, std::vector<TokenId>& out) const {
  auto& symbols = work.symbols;
  symbols.clear();
  add_symbols(word, symbols);
  if (symbols.size() <= kShort) {
    symbols.resize(merge_short<kShort>(symbols));
  } else if (!merge_windows(work)) {
    merge_long(work);
  }
  for (const auto& symbol : symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

// Examines every pair before each merge. That is quadratic, but it is the fastest way for words of usual
// length.
template <std::size_t kMost>
std::size_t Bpe::merge_short(std::span<Symbol> symbols) const {
  std::array<MergeTable::Merge, kMost> pairs;  // of each symbol and the next
  std::size_t size = symbols.size();
  const auto pair_at = [&](std::size_t i) {
    return i + 1 < size ? merges_.find(symbols[i].id, symbols[i + 1].id) : MergeTable::Merge{};
  };
  for (std::size_t i = 0; i < size; ++i) pairs[i] = pair_at(i);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == MergeTable::kNoRank) break;
    symbols[best].id = pairs[best].result;
    symbols[best].next += symbols[best + 1].next;
    for (std::size_t i = best + 1; i + 1 < size; ++i) {
      symbols[i] = symbols[i + 1];
      pairs[i] = pairs[i + 1];
    }
    --size;
    pairs[best] = pair_at(best);
    if (best > 0) pairs[best - 1] = pair_at(best - 1);
  }
  return size;
}

// Some symbols of a word, merged without their neighbours. `next` is the number of symbols of which each was
// made.
struct Bpe::Window {
  std::array<Symbol, 2 * kWindow> symbols;
  std::size_t size = 0;

  std::span<const Symbol> tokens() const { return std::span(symbols).first(size); }
};

void Bpe::merge_window(std::span<const Symbol> symbols, Window& window) const {
  window.size = symbols.size();
  for (std::size_t i = 0; i < symbols.size(); ++i) window.symbols[i] = {.id = symbols[i].id, .next = 1};
  window.size = merge_short<2 * kWindow>(std::span(window.symbols).first(window.size));
}

// Merges a long word in windows that fit the nearest cache. Each window begins where the tokens of the window
// before are final. If two neighbours stay apart on their own, they stay apart in any word, since nothing
// else touches them before the first merge across their border. So if all neighbouring tokens stay apart,
// they are the word's tokens, and only the borders between windows must be checked. Returns false if such
// borders are too far apart.
bool Bpe::merge_windows(Workspace& work) const {
  constexpr int kMaxFailures = 4;
  const std::span<const Symbol> all = work.symbols;
  auto& merged = work.merged;
  merged.clear();
  Window window;
  Window pair;
  std::size_t begin = 0;
  std::size_t furthest = 0;
  int failures = 0;
  for (unsigned round = 1; begin < all.size(); ++round) {
    if (round % 64 == 0 && work.stop.stop_requested()) return true;
    merge_window(all.subspan(begin, std::min(kWindow, all.size() - begin)), window);
    const Symbol& first = window.symbols[0];
    if (!merged.empty()) {
      const Symbol before = merged.back();
      merge_window(all.subspan(begin - before.next, before.next + first.next), pair);
      if (pair.size != 2 || pair.symbols[0].id != before.id || pair.symbols[0].next != before.next) {
        if (++failures > kMaxFailures) return false;
        merged.pop_back();
        begin -= before.next;
        continue;
      }
    }
    const bool is_last = all.size() - begin <= kWindow;
    std::size_t taken = 0;
    for (const Symbol& token : window.tokens()) {
      if (!is_last && taken + token.next > kWindow - kWindowTail) break;
      merged.push_back(token);
      taken += token.next;
    }
    if (taken == 0) return false;
    begin += taken;
    if (begin > furthest) failures = 0;
    furthest = std::max(furthest, begin);
  }
  work.symbols.swap(merged);
  return true;
}

// Merges a long word with one bucket of candidates per rank. Candidates mostly arrive from left to right,
// which is also the order in which they are taken, so a bucket is rarely sorted. A word of a million letters
// costs no more per letter than a short word.
void Bpe::merge_long(Workspace& work) const {
  auto& symbols = work.symbols;
  const auto num_symbols = static_cast<std::uint32_t>(symbols.size());
  for (std::uint32_t i = 0; i < num_symbols; ++i) {
    symbols[i].previous = i - 1;  // wraps around for the first symbol
    symbols[i].next = i + 1;
  }
  work.bucket_of_rank.resize(merges_.num_ranks(), -1);
  work.ranks.clear();
  work.buckets.clear();
  work.free_buckets.clear();
  for (std::uint32_t i = 0; i + 1 < num_symbols; ++i) add_candidate(i, work);
  while (!work.ranks.empty() && !work.stop.stop_requested()) merge_bucket(work.ranks.front(), work);
  for (const std::uint32_t rank : work.ranks) work.bucket_of_rank[rank] = -1;
}

// Merges candidates of the lowest rank until none is left or a lower rank appears.
void Bpe::merge_bucket(std::uint32_t rank, Workspace& work) const {
  const auto index = static_cast<std::size_t>(work.bucket_of_rank[rank]);
  auto& symbols = work.symbols;
  if (auto& bucket = work.buckets[index]; !bucket.sorted && bucket.taken == 0 && !bucket.is_heap) {
    std::sort(bucket.candidates.begin(), bucket.candidates.end(), is_left_of);
    bucket.sorted = true;
  }
  constexpr unsigned kLooks = 4096;  // candidates between two checks of `stop`
  for (unsigned i = 1;; ++i) {
    if (i % kLooks == 0 && work.stop.stop_requested()) return;
    auto& bucket = work.buckets[index];  // adding candidates may move the bucket
    if (!bucket.sorted && !bucket.is_heap) {
      bucket.candidates.erase(bucket.candidates.begin(),
                              bucket.candidates.begin() + static_cast<std::ptrdiff_t>(bucket.taken));
      bucket.taken = 0;
      std::make_heap(bucket.candidates.begin(), bucket.candidates.end(), is_right_of);
      bucket.is_heap = true;
    }
    if (bucket.taken == bucket.candidates.size()) {
      bucket = {};
      work.free_buckets.push_back(static_cast<std::int32_t>(index));
      std::pop_heap(work.ranks.begin(), work.ranks.end(), std::greater<>());
      work.ranks.pop_back();
      work.bucket_of_rank[rank] = -1;
      return;
    }
    Candidate best;
    if (bucket.is_heap) {
      std::pop_heap(bucket.candidates.begin(), bucket.candidates.end(), is_right_of);
      best = bucket.candidates.back();
      bucket.candidates.pop_back();
    } else {
      best = bucket.candidates[bucket.taken++];
    }
    auto& left = symbols[best.left];
    // Skips a candidate if an earlier merge has changed one of its two symbols.
    if (left.id < 0 || left.next >= symbols.size() || symbols[left.next].next != best.end) continue;
    symbols[left.next].id = -1;
    left.id = best.result;
    left.next = best.end;
    if (best.end < symbols.size()) symbols[best.end].previous = best.left;
    if (left.previous < symbols.size()) add_candidate(left.previous, work);
    add_candidate(best.left, work);
    if (work.ranks.front() != rank) return;
  }
}

void Bpe::add_candidate(std::uint32_t left, Workspace& work) const {
  const auto& symbol = work.symbols[left];
  if (symbol.next >= work.symbols.size()) return;
  const auto& right = work.symbols[symbol.next];
  const MergeTable::Merge merge = merges_.find(symbol.id, right.id);
  if (merge.rank == MergeTable::kNoRank) return;
  std::int32_t& index = work.bucket_of_rank[merge.rank];
  if (index < 0) {
    if (work.free_buckets.empty()) {
      work.free_buckets.push_back(static_cast<std::int32_t>(work.buckets.size()));
      work.buckets.emplace_back();
    }
    index = work.free_buckets.back();
    work.free_buckets.pop_back();
    work.ranks.push_back(merge.rank);
    std::push_heap(work.ranks.begin(), work.ranks.end(), std::greater<>());
  }
  auto& bucket = work.buckets[static_cast<std::size_t>(index)];
  if (!bucket.candidates.empty() && left < bucket.candidates.back().left) bucket.sorted = false;
  bucket.candidates.push_back({left, right.next, merge.result});
  if (bucket.is_heap) std::push_heap(bucket.candidates.begin(), bucket.candidates.end(), is_right_of);
}

void Bpe::add_symbols(std::string_view word, Symbols& symbols) const {
  if (options_.alphabet == Alphabet::bytes) {
    for (const char c : word) {
      const TokenId id = byte_tokens_[static_cast<unsigned char>(c)];
      if (id >= 0) {
        symbols.push_back({.id = id});
      } else {
        add_unspelled({&c, 1}, symbols);
      }
    }
    return;
  }
  while (!word.empty()) {
    const std::string_view character = word.substr(0, base::utf8_step(word).size);
    if (const auto id = table_.find_piece(character)) {
      symbols.push_back({.id = *id});
    } else {
      add_unspelled(character, symbols);
    }
    word.remove_prefix(character.size());
  }
}

void Bpe::add_unspelled(std::string_view character, Symbols& symbols) const {
  const bool has_bytes = std::all_of(character.begin(), character.end(), [this](char c) {
    return byte_tokens_[static_cast<unsigned char>(c)] >= 0;
  });
  if (has_bytes) {
    for (const char c : character) symbols.push_back({.id = byte_tokens_[static_cast<unsigned char>(c)]});
    return;
  }
  if (!options_.unk) return;
  if (options_.fuse_unk && !symbols.empty() && symbols.back().id == *options_.unk) return;
  symbols.push_back({.id = *options_.unk});
}

}  // namespace kvasir::text
