#include "base/unique_json.h"

#include <set>
#include <string>
#include <vector>

namespace kvasir::base {

namespace {

// Returns the position after the closing quote of the string that begins at `at`. The text is valid JSON.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (std::size_t quote = text.find('"', at + 1);; quote = text.find('"', quote + 1)) {
    std::size_t before = quote;
    while (text[before - 1] == '\\') --before;
    if ((quote - before) % 2 == 0) return quote + 1;
  }
}

// Counts the members of all objects in the text, each repeated key every time.
std::size_t num_written_members(std::string_view text) {
  std::size_t num_colons = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = string_end(text, at);
      continue;
    }
    num_colons += text[at] == ':' ? 1 : 0;
    ++at;
  }
  return num_colons;
}

std::size_t num_members(const json::value& value) {
  std::size_t n = 0;
  if (const json::array* array = value.if_array())
    for (const json::value& item : *array) n += num_members(item);
  if (const json::object* object = value.if_object()) {
    n += object->size();
    for (const auto& member : *object) n += num_members(member.value());
  }
  return n;
}

// Returns a key that occurs twice in one object, as written. Empty if its two occurrences are written
// differently.
std::string_view find_duplicate(std::string_view text) {
  std::vector<std::set<std::string_view>> open;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '{' || text[at] == '[') open.emplace_back();
    if (text[at] == '}' || text[at] == ']') open.pop_back();
    if (text[at] != '"') {
      ++at;
      continue;
    }
    const std::size_t end = string_end(text, at);
    const std::string_view key = text.substr(at + 1, end - at - 2);
    at = text.find_first_not_of(" \n\r\t", end);
    if (at == std::string_view::npos) break;
    if (text[at] == ':' && !open.back().insert(key).second) return key;
  }
  return {};
}

Error duplicate_key(std::string_view text) {
  const std::string_view key = find_duplicate(text).substr(0, 64);
  return Error{ErrorCode::invalid_argument,
               key.empty() ? std::string("an object has the same key twice")
                           : fmt::format("an object has the key \"{}\" twice", key),
               {},
               "duplicate_key"};
}

}  // namespace

Result<json::value> parse_unique_json(std::string_view text, JsonLimits limits) {
  TRY(json::value value, parse_json(text, limits));
  // For repeated keys the parser keeps only one member. So comparing counts finds them, and a text without
  // them costs only the counting.
  if (num_members(value) != num_written_members(text)) return duplicate_key(text);
  return value;
}

}  // namespace kvasir::base
