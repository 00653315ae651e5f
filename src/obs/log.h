#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace kvasir::obs {

enum class LogLevel { trace, debug, info, warn, error, off };

// "info" and so on.
base::Result<LogLevel> parse_log_level(std::string_view text);

// One key=value of a message. Strings, numbers and whatever else fmt can print.
struct LogField {
  template <class T>
  LogField(std::string_view key_in, const T& value_in) : key(key_in), value(fmt::format("{}", value_in)) {}
  std::string_view key;
  std::string value;
};

// The process's messages: one line each, `time level event key=value ...`, on stderr. A value is quoted and
// escaped where it must be, so what a client sent can neither end a line nor forge a field. Values of keys
// that name secrets (authorization, api_key, token, ...) are not written. Thread-safe; a line is written by a
// thread of its own, and when that cannot keep up the oldest lines are dropped rather than the caller held.
class Log {
 public:
  static void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
  static void set_level(LogLevel level);
  static bool enabled(LogLevel level);

  // Waits for the lines so far. Called before the process ends.
  static void flush();
  // Sends lines (without time) to `sink` on the caller's thread instead; an empty one restores stderr.
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
