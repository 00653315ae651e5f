#include <algorithm>

#include "text/jinja/callable.h"

namespace kvasir::text::jinja {

base::Status Budget::spend(std::size_t& left, std::size_t count, std::string_view what) {
  if (count > left) {
    base::Error error = base::error(base::ErrorCode::too_large, "the chat template takes too many {}", what);
    error.reason = "context_length_exceeded";
    return error;
  }
  left -= count;
  return base::ok();
}

const Value* Arguments::find(std::size_t position, std::string_view name) const {
  if (position < positional.size()) return &positional[position];
  for (const auto& [given, value] : named) {
    if (given == name) return &value;
  }
  return nullptr;
}

base::Status Arguments::only(std::initializer_list<std::string_view> names) const {
  if (positional.size() > names.size()) {
    return failure("takes at most {} argument(s), {} given", names.size(), positional.size());
  }
  for (const auto& [given, value] : named) {
    const auto found = std::find(names.begin(), names.end(), given);
    if (found == names.end()) return failure("got an unexpected keyword argument '{}'", given);
    if (static_cast<std::size_t>(found - names.begin()) < positional.size())
      return failure("got multiple values for argument '{}'", given);
  }
  return base::ok();
}

base::Status Arguments::by_position(std::size_t least, std::size_t most) const {
  if (!named.empty()) return failure("takes no keyword arguments");
  if (positional.size() < least) return failure("takes at least {} argument(s)", least);
  if (positional.size() > most)
    return failure("takes at most {} argument(s), {} given", most, positional.size());
  return base::ok();
}

}  // namespace kvasir::text::jinja
