#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace kvasir::config {

// Constraints on a setting's value. `complaint` says what is wrong with a value; `words` says which values
// are allowed.
struct Anything {
  template <class T>
  std::optional<std::string> complaint(const T&) const {
    return std::nullopt;
  }
  std::string words() const { return {}; }
};

struct NotEmpty {
  template <class T>
  std::optional<std::string> complaint(const T& value) const {
    if (value.empty()) return "must not be empty";
    return std::nullopt;
  }
  std::string words() const { return {}; }
};

// A list, possibly empty, of texts that are not empty.
struct NoneEmpty {
  std::optional<std::string> complaint(const StringList& value) const {
    for (const std::string& text : value)
      if (text.empty()) return "must not have an empty text";
    return std::nullopt;
  }
  std::string words() const { return {}; }
};

struct Range {
  double min;
  double max;
  template <class T>
  std::optional<std::string> complaint(T value) const {
    const auto number = static_cast<double>(value);
    if (number >= min && number <= max) return std::nullopt;
    return fmt::format("must be from {}, and is {}", words(), value);
  }
  std::string words() const { return fmt::format("{:.10g} to {:.10g}", min, max); }
};

struct OneOf {
  OneOf(std::initializer_list<std::string_view> allowed_in) : allowed(allowed_in) {}
  std::vector<std::string_view> allowed;
  std::optional<std::string> complaint(const std::string& value) const {
    for (const std::string_view a : allowed) {
      if (a == value) return std::nullopt;
    }
    return fmt::format("must be one of {}, and is '{}'", words(), value);
  }
  std::string words() const { return fmt::format("{}", fmt::join(allowed, ", ")); }
};

// A list of NAME=VALUE whose values are never shown.
struct SecretPairs {
  std::optional<std::string> complaint(const StringList& value) const {
    for (const std::string& pair : value)
      if (pair.find('=') == std::string::npos || pair.starts_with('=')) return "must be NAME=VALUE";
    return std::nullopt;
  }
  std::string words() const { return "NAME=VALUE"; }
};

template <class Check>
struct SettingRow {
  std::string_view name;
  Check check;
  std::string_view sentence;
};

// Calls visit(SettingRow, field) for each setting in the table's order; `settings` may be const.
template <class SettingsRef, class Visit>
void for_each_setting(SettingsRef&& settings, Visit&& visit) {
#define SETTING(type, name, default_value, check, sentence) \
  visit(SettingRow<decltype(check)>{#name, check, sentence}, settings.name);
#include "config/settings.def"
#undef SETTING
}

std::string flag_of(std::string_view name);      // max_queue → --max-queue
std::string variable_of(std::string_view name);  // max_queue → KVASIR_MAX_QUEUE

inline std::string text_of(bool value) {
  return value ? "true" : "false";
}
inline std::string text_of(int value) {
  return fmt::format("{}", value);
}
inline std::string text_of(std::int64_t value) {
  return fmt::format("{}", value);
}
inline std::string text_of(double value) {
  return fmt::format("{:g}", value);
}
inline std::string text_of(const std::string& value) {
  return value;
}
inline std::string text_of(const StringList& value) {
  return fmt::format("{}", fmt::join(value, ","));
}

}  // namespace kvasir::config
