#include "router/public_prompts.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace kvasir::router {

namespace {

std::vector<std::string> longest_first(std::vector<std::string> texts) {
  std::erase_if(texts, &std::string::empty);
  std::ranges::stable_sort(texts, std::greater<>(), &std::string::size);
  return texts;
}

}  // namespace

PublicPrompts::PublicPrompts(std::vector<std::string> texts) : texts_(longest_first(std::move(texts))) {}

const std::string* PublicPrompts::find(std::string_view system) const {
  const auto found =
      std::ranges::find_if(texts_, [system](const std::string& text) { return system.starts_with(text); });
  return found == texts_.end() ? nullptr : &*found;
}

PublicPrompts::Tokens PublicPrompts::tokens_of(const std::string& text, std::string_view rendered) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(text);
  return found == kept_.end() || found->second.rendered != rendered ? nullptr : found->second.tokens;
}

void PublicPrompts::keep(const std::string& text, std::string rendered, Tokens tokens) {
  const std::lock_guard lock(mutex_);
  kept_[text] = {std::move(rendered), std::move(tokens)};
}

}  // namespace kvasir::router
