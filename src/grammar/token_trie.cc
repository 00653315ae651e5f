#include "grammar/token_trie.h"

#include <algorithm>
#include <numeric>

#include "grammar/loop_slice.h"

namespace kvasir::grammar {
namespace {

constexpr std::size_t kMaxSlices = 48;        // about 300 KB each on a vocabulary of 150 K
constexpr std::size_t kMaxTokenBytes = 1024;  // a longer token is never proposed

}  // namespace

TokenTrie::TokenTrie(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  const auto& bytes = vocabulary_.token_bytes;
  is_text_.assign(bytes.size(), false);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    is_text_[i] = !bytes[i].empty() && bytes[i].size() <= kMaxTokenBytes;
  }
  for (const auto* list : {&vocabulary_.special, &vocabulary_.end}) {
    for (const TokenId id : *list) {
      CHECK(id >= 0 && static_cast<std::size_t>(id) < bytes.size(), "special token {} of {}", id,
            bytes.size());
      is_text_[id] = false;
    }
  }
  std::vector<TokenId> order;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (is_text_[i]) order.push_back(static_cast<TokenId>(i));
  }
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    const int c = bytes[a].compare(bytes[b]);
    return c != 0 ? c < 0 : a < b;
  });
  nodes_.push_back({0, -1, 0, 0});
  std::string_view previous;
  for (const TokenId id : order) {
    const std::string_view text = bytes[id];
    const auto split = std::mismatch(text.begin(), text.end(), previous.begin(), previous.end());
    add_path(text, static_cast<std::size_t>(split.first - text.begin()), id);
    previous = text;
  }
  // A subtree ends at the next node that is not deeper.
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i <= nodes_.size(); ++i) {
    while (!open.empty() && (i == nodes_.size() || nodes_[i].depth <= nodes_[open.back()].depth)) {
      nodes_[open.back()].subtree_end = i;
      open.pop_back();
    }
    if (i < nodes_.size()) open.push_back(i);
  }
}

TokenTrie::~TokenTrie() = default;

void TokenTrie::add_path(std::string_view bytes, std::size_t shared, TokenId token) {
  if (shared == bytes.size()) {  // the tokens are sorted, so only an equal text is wholly shared
    if (twins_.empty()) twins_.assign(num_tokens(), -1);
    TokenId last = nodes_.back().token;
    while (twins_[last] >= 0) last = twins_[last];
    twins_[last] = token;
    return;
  }
  for (std::size_t i = shared; i < bytes.size(); ++i) {
    nodes_.push_back({0, -1, static_cast<std::uint16_t>(i + 1), static_cast<std::uint8_t>(bytes[i])});
  }
  nodes_.back().token = token;
  max_depth_ = std::max(max_depth_, static_cast<int>(bytes.size()));
}

bool TokenTrie::is_end(TokenId token) const {
  return std::find(vocabulary_.end.begin(), vocabulary_.end.end(), token) != vocabulary_.end.end();
}

std::string_view TokenTrie::bytes_of(TokenId token) const {
  if (token < 0 || static_cast<std::size_t>(token) >= is_text_.size() || !is_text_[token]) return {};
  return vocabulary_.token_bytes[token];
}

std::shared_ptr<const LoopSlice> TokenTrie::slice(const std::shared_ptr<const LoopBody>& body) const {
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(slices_.begin(), slices_.end(),
                                 [&](const CachedSlice& c) { return c.body == body || *c.body == *body; });
    if (it != slices_.end()) {
      slices_.splice(slices_.begin(), slices_, it);
      return it->slice;
    }
  }
  auto slice = std::make_shared<const LoopSlice>(make_loop_slice(*this, *body));
  const std::lock_guard lock(mutex_);
  slices_.push_front({body, slice});
  if (slices_.size() > kMaxSlices) slices_.pop_back();
  return slice;
}

}  // namespace kvasir::grammar
