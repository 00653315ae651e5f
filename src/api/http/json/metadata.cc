#include "api/http/json/metadata.h"

#include <cstddef>
#include <utility>

#include "base/utf8.h"

namespace kvasir::api {

namespace {

constexpr std::size_t kMaxPairs = 16;
constexpr std::size_t kMaxNameCharacters = 64;
constexpr std::size_t kMaxTextCharacters = 512;

}  // namespace

base::Result<json::object> read_metadata(const json::value& value) {
  if (!value.is_object()) return wrong_type("an object of strings", value);
  const json::object& pairs = value.get_object();
  if (pairs.size() > kMaxPairs)
    return wrong_value(fmt::format("expected at most {} pairs, got {}", kMaxPairs, pairs.size()));
  for (const auto& [name, text] : pairs) {
    auto read = read_string(text);
    if (!read.ok()) return in_field(std::string_view(name), std::move(read).error());
    if (base::num_characters(name) > kMaxNameCharacters || base::num_characters(*read) > kMaxTextCharacters)
      return in_field(std::string_view(name),
                      wrong_value(fmt::format("expected names of at most {} characters and texts of {}",
                                              kMaxNameCharacters, kMaxTextCharacters)));
  }
  return pairs;
}

}  // namespace kvasir::api
