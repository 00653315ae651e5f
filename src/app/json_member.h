#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

// Reads answers of a server, whose fields may be missing or of another type.
namespace kvasir::app {

inline const boost::json::value* member(const boost::json::value& value, std::string_view name) {
  const boost::json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

// Empty if there is no such member or it is not text.
inline std::string text_member(const boost::json::value& value, std::string_view name) {
  const boost::json::value* found = member(value, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

// 0 if there is no such member or it is not a number.
inline double number_member(const boost::json::value& value, std::string_view name) {
  const boost::json::value* found = member(value, name);
  return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
}

}  // namespace kvasir::app
