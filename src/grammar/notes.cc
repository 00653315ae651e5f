#include "grammar/notes.h"

#include <algorithm>

namespace kvasir::grammar {

void Notes::add(const std::string& what, const std::string& path) {
  const auto known = std::ranges::find(list_, what, &Note::what);
  if (known == list_.end() && list_.size() >= kMaxNotes) return;
  if (!places_.emplace(what, path).second) return;
  if (known == list_.end()) {
    list_.push_back({what, path});
  } else {
    ++known->num_places;
  }
}

}  // namespace kvasir::grammar
