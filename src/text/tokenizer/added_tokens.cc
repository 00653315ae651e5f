#include "text/tokenizer/added_tokens.h"

#include <algorithm>

#include "base/check.h"

namespace kvasir::text {

void AddedTokens::add(std::string_view bytes, Entry entry) {
  CHECK(!bytes.empty());
  first_bytes_.set(static_cast<unsigned char>(bytes[0]));
  std::int32_t node = 0;
  for (const char c : bytes) {
    std::int32_t next = child(node, c);
    if (next < 0) {
      next = static_cast<std::int32_t>(nodes_.size());
      nodes_[node].children.emplace_back(c, next);
      nodes_.emplace_back();
    }
    node = next;
  }
  nodes_[node].entry = static_cast<std::int32_t>(entries_.size());
  entries_.push_back(entry);
}

std::int32_t AddedTokens::child(std::int32_t node, char c) const {
  const auto& children = nodes_[node].children;
  const auto found =
      std::find_if(children.begin(), children.end(), [c](const auto& edge) { return edge.first == c; });
  return found == children.end() ? -1 : found->second;
}

}  // namespace kvasir::text
