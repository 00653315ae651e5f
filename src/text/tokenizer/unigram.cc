#include "text/tokenizer/unigram.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/byte_level.h"

namespace kvasir::text {
namespace {

std::size_t num_bytes(const TokenTable& table) {
  std::size_t sum = 0;
  for (TokenId id = 0; id < table.size(); ++id) sum += table.spelling(id).size();
  return sum;
}

}  // namespace

ScoredTrie ScoredTrie::build(const TokenTable& table, std::vector<double> scores) {
  CHECK(static_cast<int>(scores.size()) == table.size());
  struct Built {
    std::vector<double> scores;
    std::vector<Edge> edges;
    std::vector<TokenId> token_at;
  };
  auto built = std::make_shared<Built>();
  built->scores = std::move(scores);
  built->edges.resize(std::bit_ceil(num_bytes(table) * 2 + 2));
  built->token_at.assign(1, -1);
  for (TokenId id = 0; id < table.size(); ++id) {
    if (table.type(id) != TokenType::normal || table.spelling(id).empty()) continue;
    std::int32_t node = 0;
    for (const char c : table.spelling(id)) {
      const std::uint64_t key = key_of(node, c);
      Edge& edge = built->edges[slot(built->edges, key)];
      if (edge.key == 0) {
        edge = {key, static_cast<std::int32_t>(built->token_at.size())};
        built->token_at.push_back(-1);
      }
      node = edge.child;
    }
    built->token_at[node] = id;
  }
  return ScoredTrie({built->scores, built->edges, built->token_at}, built);
}

base::Result<ScoredTrie> ScoredTrie::from_columns(const Columns& columns, std::shared_ptr<const void> owner,
                                                  int num_tokens) {
  const auto num_nodes = static_cast<std::int64_t>(columns.token_at.size());
  const auto is_node = [num_nodes](const Edge& edge) { return edge.child >= 0 && edge.child < num_nodes; };
  const bool fits =
      columns.scores.size() == static_cast<std::size_t>(num_tokens) && num_nodes > 0 &&
      std::has_single_bit(columns.edges.size()) &&
      std::all_of(columns.edges.begin(), columns.edges.end(), is_node) &&
      std::any_of(columns.edges.begin(), columns.edges.end(), [](const Edge& e) { return e.key == 0; }) &&
      std::all_of(columns.token_at.begin(), columns.token_at.end(),
                  [num_tokens](TokenId id) { return id >= -1 && id < num_tokens; });
  if (!fits) return base::error(base::ErrorCode::corrupt, "the trie of the tokens is none");
  return ScoredTrie(columns, std::move(owner));
}

Unigram::Unigram(const TokenTable& table, ScoredTrie trie, const Options& options)
    : trie_(std::move(trie)), options_(options) {
  if (!options.byte_fallback) return;
  byte_tokens_.assign(256, -1);
  for (TokenId id = 0; id < table.size(); ++id) {
    if (table.type(id) == TokenType::byte)
      byte_tokens_[static_cast<unsigned char>(*byte_of_name(table.spelling(id)))] = id;
  }
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
      offer(end, {so_far + trie_.score(id), static_cast<std::int32_t>(at), id});
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
      // A run of unknown characters becomes one unknown token.
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
