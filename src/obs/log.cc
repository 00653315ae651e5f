#include "obs/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "base/utf8.h"
#include "obs/log_writer.h"

namespace kvasir::obs {
namespace {

constexpr std::size_t kUsualLine = 384;
constexpr std::array<std::string_view, 6> kLevelNames = {"trace", "debug", "info", "warn", "error", "off"};

bool begins_with_secret(std::string_view text) {
  switch (text.front()) {
    case 'a':
      return text.starts_with("authorization") || text.starts_with("api_key") || text.starts_with("apikey");
    case 'c':
      return text.starts_with("cookie");
    case 'p':
      return text.starts_with("password");
    case 's':
      return text.starts_with("secret");
    default:
      return false;
  }
}

bool is_secret(std::string_view key) {
  for (std::string_view rest = key; !rest.empty(); rest.remove_prefix(1))
    if (begins_with_secret(rest)) return true;
  return key == "token" || key.ends_with("_token") || key == "key";
}

bool is_plain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7f;
  });
}

void append_quoted(std::string& out, std::string_view value) {
  out += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < ' ' || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

// `valid` is UTF-8.
void append_json_characters(std::string& out, std::string_view valid) {
  for (const char c : valid) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < ' ' || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
}

void append_json_text(std::string& out, std::string_view value) {
  out += '"';
  while (!value.empty()) {
    const std::size_t valid = base::utf8_valid_prefix(value);
    append_json_characters(out, value.substr(0, valid));
    value.remove_prefix(valid);
    if (value.empty()) break;
    // Bytes that are not UTF-8 would make the whole line unreadable. U+FFFD stands for them.
    out += "\\ufffd";
    value.remove_prefix(base::utf8_step(value).size);
  }
  out += '"';
}

// Writes the part of the JSON object after the time and the level.
std::string json_line_of(std::string_view event, std::span<const LogField> fields) {
  std::string line;
  line.reserve(kUsualLine);
  line += "\"event\":";
  append_json_text(line, event);
  for (const LogField& field : fields) {
    line += ',';
    append_json_text(line, field.key);
    line += ':';
    const bool bare = field.bare && field.value.find("n") == std::string::npos;  // not inf or nan
    if (is_secret(field.key))
      line += "\"***\"";
    else if (bare)
      line += field.value;
    else
      append_json_text(line, field.value);
  }
  return line + '}';
}

std::string text_line_of(std::string_view event, std::span<const LogField> fields) {
  std::string line;
  line.reserve(kUsualLine);
  line += event;
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (is_secret(field.key)) {
      line += "***";
    } else if (is_plain(field.value)) {
      line += field.value;
    } else {
      append_quoted(line, field.value);
    }
  }
  return line;
}

// The log of the process. It is never destroyed, since threads may still write while static objects are
// destroyed.
struct Output {
  Output() {
    std::atexit([] { Log::flush(); });
  }

  std::atomic<LogLevel> level{LogLevel::info};
  std::atomic<LogFormat> format{LogFormat::text};
  std::mutex mutex;
  std::function<void(std::string_view)> redirected;  // guarded by mutex
  std::shared_ptr<LogWriter> writer;                 // guarded by mutex; created by the first line
};

Output& output() {
  static Output* const instance = new Output();
  return *instance;
}

// Returns the writer; null if the line was redirected.
std::shared_ptr<LogWriter> writer_for(Output& out, LogLevel level, const std::string& line) {
  const std::lock_guard lock(out.mutex);
  if (out.redirected) {
    const std::string_view name = kLevelNames[static_cast<std::size_t>(level)];
    out.redirected(out.format == LogFormat::json ? fmt::format("{{\"level\":\"{}\",{}", name, line)
                                                 : fmt::format("{} {}", name, line));
    return nullptr;
  }
  if (!out.writer) out.writer = std::make_shared<LogWriter>(STDERR_FILENO);
  return out.writer;
}

}  // namespace

base::Result<LogLevel> parse_log_level(std::string_view text) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), text);
  if (found == kLevelNames.end()) {
    return base::error(base::ErrorCode::invalid_argument, "'{}' is no log level; there are {}", text,
                       fmt::join(kLevelNames, ", "));
  }
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

void Log::set_level(LogLevel level) {
  output().level = level;
}

void Log::set_format(LogFormat format) {
  output().format = format;
}

bool Log::enabled(LogLevel level) {
  return level != LogLevel::off && level >= output().level.load(std::memory_order_relaxed);
}

void Log::write(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (!enabled(level)) return;
  const bool as_json = output().format.load(std::memory_order_relaxed) == LogFormat::json;
  const std::string line = as_json ? json_line_of(event, fields) : text_line_of(event, fields);
  const std::shared_ptr<LogWriter> writer = writer_for(output(), level, line);
  if (!writer) return;
  const std::string_view name = kLevelNames[static_cast<std::size_t>(level)];
  const auto urgency = level >= LogLevel::warn ? LogWriter::Urgency::at_once : LogWriter::Urgency::may_wait;
  if (as_json)
    writer->put("{\"time\":\"", fmt::format("\",\"level\":\"{}\",{}", name, line), urgency);
  else
    writer->put({}, std::string(" ").append(name).append(" ").append(line), urgency);
}

void Log::flush() {
  std::shared_ptr<LogWriter> writer;
  const std::lock_guard lock(output().mutex);
  writer.swap(output().writer);
}

void Log::redirect(std::function<void(std::string_view line)> sink) {
  const std::lock_guard lock(output().mutex);
  output().redirected = std::move(sink);
}

}  // namespace kvasir::obs
