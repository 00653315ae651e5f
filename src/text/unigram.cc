#include "text/unigram.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/utf8.h"
#include "text/byte_level.h"

namespace kvasir::text {
namespace {

std::size_t num_bytes(const TokenTable& table) {
  std::size_t sum = 0;
  for (TokenId id = 0; id < table.size(); ++id) sum += table.spelling(id).size();
  return sum;
}

}  // namespace

Unigram::Trie::Trie(std::size_t max_edges) : edges_(std::bit_ceil(max_edges * 2 + 2)), tokens_(1, -1) {}

std::size_t Unigram::Trie::slot(std::uint64_t key) const {
  const std::size_t mask = edges_.size() - 1;
  std::size_t at = (key * 0x9E3779B97F4A7C15ull) >> 20 & mask;
  while (edges_[at].key != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return at;
}

std::int32_t Unigram::Trie::child(std::int32_t node, char c) const {
  const std::uint64_t key = (static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(c)) + 1;
  const Edge& edge = edges_[slot(key)];
  return edge.key == 0 ? -1 : edge.child;
}

void Unigram::Trie::add(std::string_view spelling, TokenId id) {
  std::int32_t node = 0;
  for (const char c : spelling) {
    const std::uint64_t key = (static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(c)) + 1;
    Edge& edge = edges_[slot(key)];
    if (edge.key == 0) {
      edge = {key, static_cast<std::int32_t>(tokens_.size())};
      tokens_.push_back(-1);
    }
    node = edge.child;
  }
  tokens_[node] = id;
}

Unigram::Unigram(const TokenTable& table, std::vector<double> scores, const Options& options)
    : scores_(std::move(scores)), options_(options), trie_(num_bytes(table)) {
  CHECK(static_cast<int>(scores_.size()) == table.size());
  std::vector<TokenId> byte_tokens(256, -1);
  for (TokenId id = 0; id < table.size(); ++id) {
    if (table.type(id) == TokenType::normal && !table.spelling(id).empty()) trie_.add(table.spelling(id), id);
    if (table.type(id) == TokenType::byte)
      byte_tokens[static_cast<unsigned char>(*byte_of_name(table.spelling(id)))] = id;
  }
  if (options.byte_fallback) byte_tokens_ = std::move(byte_tokens);
}

void Unigram::encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const {
  auto& best = work.best;
  best.assign(word.size() + 1, {});
  best[0].start = 0;
  const auto offer = [&](std::size_t end, const Workspace::Best& way) {
    if (best[end].start < 0 || way.score > best[end].score) best[end] = way;
  };
  for (std::size_t at = 0; at < word.size();) {
    if (at % 4096 == 0 && work.stop.stop_requested()) return;
    const double so_far = best[at].score;
    const std::size_t character = base::utf8_step(word.substr(at)).size;
    bool known = false;
    std::int32_t node = 0;
    for (std::size_t end = at; end < word.size();) {
      node = trie_.child(node, word[end]);
      if (node < 0) break;
      ++end;
      const TokenId id = trie_.token(node);
      if (id < 0) continue;
      offer(end, {so_far + scores_[id], static_cast<std::int32_t>(at), id});
      known = known || end - at == character;
    }
    if (!known) offer(at + character, {so_far + options_.unk_score, static_cast<std::int32_t>(at), -1});
    at += character;
  }
  const std::size_t before = out.size();
  std::vector<TokenId> unknown;
  for (std::size_t end = word.size(); end > 0;) {
    std::size_t start = static_cast<std::size_t>(best[end].start);
    if (best[end].id >= 0) {
      out.push_back(best[end].id);
    } else {
      // A run of unknown characters counts as one.
      while (start > 0 && best[start].id < 0) start = static_cast<std::size_t>(best[start].start);
      unknown.clear();
      add_unknown(word.substr(start, end - start), unknown);
      out.insert(out.end(), unknown.rbegin(), unknown.rend());
    }
    end = start;
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
}

void Unigram::add_unknown(std::string_view text, std::vector<TokenId>& out) const {
  const auto token_of = [this](char c) { return byte_tokens_[static_cast<unsigned char>(c)]; };
  const bool spelled = !byte_tokens_.empty() &&
                       std::all_of(text.begin(), text.end(), [&](char c) { return token_of(c) >= 0; });
  if (spelled) {
    for (const char c : text) out.push_back(token_of(c));
  } else if (options_.unk) {
    out.push_back(*options_.unk);
  }
}

}  // namespace kvasir::text
