#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "grammar/automaton.h"

namespace kvasir::grammar {

struct LoopSlice;

// The bytes of every token of one vocabulary, as a prefix tree. Built once per tokenizer and shared by all
// grammars. Immutable, except for its cache of slices, which has its own lock. Thread-safe.
class TokenTrie {
 public:
  struct Vocabulary {
    std::vector<std::string> token_bytes;  // by id; empty: never allowed
    std::vector<TokenId> special;          // never allowed as text: controls, turn markers
    std::vector<TokenId> end;              // allowed only if the grammar is complete
    // Tokenizes text as the model would write it; called on any thread. If it is empty, at most one forced
    // token is found at a time.
    std::function<std::vector<TokenId>(std::string_view)> tokenize = {};
  };

  // Nodes are in depth-first order, the root first. A subtree is a range, so skipping it is one jump.
  struct Node {
    std::uint32_t subtree_end;
    std::int32_t token;  // -1: no token ends here
    std::uint16_t depth;
    std::uint8_t byte;  // the byte that leads here from the parent
  };

  explicit TokenTrie(Vocabulary vocabulary);
  ~TokenTrie();

  std::span<const Node> nodes() const { return nodes_; }
  std::size_t num_tokens() const { return vocabulary_.token_bytes.size(); }
  std::size_t num_mask_words() const { return (num_tokens() + 31) / 32; }
  int max_depth() const { return max_depth_; }
  std::span<const TokenId> end_tokens() const { return vocabulary_.end; }
  bool is_end(TokenId token) const;
  // The text of a token that a grammar may allow; empty for any other token and for ids out of range.
  std::string_view bytes_of(TokenId token) const;
  std::vector<TokenId> tokenize(std::string_view text) const {
    return vocabulary_.tokenize ? vocabulary_.tokenize(text) : std::vector<TokenId>();
  }
  // The next token with the same bytes, or -1.
  TokenId twin(TokenId token) const { return twins_.empty() ? -1 : twins_[token]; }

  // The slice of a loop body over this vocabulary. Computed at the first call; the most recent ones are kept.
  std::shared_ptr<const LoopSlice> slice(const std::shared_ptr<const LoopBody>& body) const;

 private:
  void add_path(std::string_view bytes, std::size_t shared, TokenId token);

  struct CachedSlice {
    std::shared_ptr<const LoopBody> body;
    std::shared_ptr<const LoopSlice> slice;
  };

  Vocabulary vocabulary_;
  std::vector<bool> is_text_;
  std::vector<Node> nodes_;
  std::vector<TokenId> twins_;  // empty if no two tokens have the same bytes
  int max_depth_ = 0;

  mutable std::mutex mutex_;
  mutable std::list<CachedSlice> slices_;  // guarded by mutex_; most recent first
};

}  // namespace kvasir::grammar
