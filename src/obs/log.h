#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace kvasir::obs {

enum class LogLevel { trace, debug, info, warn, error, off };

// Parses "info" etc.
base::Result<LogLevel> parse_log_level(std::string_view text);

enum class LogFormat { text, json };

// One key=value of a message. The value is anything that fmt can print.
struct LogField {
  template <class T>
  LogField(std::string_view key_in, const T& value_in)
      : key(key_in), value(text_of(value_in)), bare(std::is_arithmetic_v<T>) {}
  std::string_view key;
  std::string value;
  bool bare;  // a number or a truth value, which has no quotes in JSON

 private:
  // Formats the value as fmt does. Most values are already text and skip the formatting.
  template <class T>
  static std::string text_of(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>)
      return std::string(std::string_view(value));
    else
      return fmt::format("{}", value);
  }
};

// The log of the process: one line per message on stderr, `time level event key=value ...` or a JSON object
// with the same fields. Values are quoted and escaped if necessary, so a client's text can neither end a line
// nor forge a field. Values of keys that name secrets (authorization, api_key, token, ...) are not written.
// Thread-safe. A separate thread writes the lines; if it cannot keep up, waiting lines are dropped rather
// than blocking the caller.
class Log {
 public:
  static void write(LogLevel level, std::string_view event, std::span<const LogField> fields);
  static void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(level, event, std::span(fields.begin(), fields.size()));
  }
  static void set_level(LogLevel level);
  static bool enabled(LogLevel level);
  // Call it before the first line.
  static void set_format(LogFormat format);

  // Waits until all lines so far are written. Called before the process ends.
  static void flush();
  // Sends lines (without time) to `sink` on the caller's thread instead. An empty `sink` restores stderr.
  static void redirect(std::function<void(std::string_view line)> sink);

  static void debug(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::debug, event, fields);
  }
  static void info(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::info, event, fields);
  }
  static void warn(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warn, event, fields);
  }
  static void error(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::error, event, fields);
  }
};

}  // namespace kvasir::obs
