#include "text/tokenizer/tokenizer_json.h"

namespace kvasir::text {

namespace json = base::json;

const json::object* json_object(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

const json::array* json_array(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_array() : nullptr;
}

std::string json_text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
}

bool json_flag(const json::object& object, std::string_view key) {
  return json_flag_or(object, key, false);
}

bool json_flag_or(const json::object& object, std::string_view key, bool otherwise) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

}  // namespace kvasir::text
