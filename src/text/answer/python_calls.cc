#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "text/answer/tool_call.h"
#include "text/tokenizer/json_scanner.h"

namespace kvasir::text {
namespace {

namespace json = base::json;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-';
}

// Parses calls whose arguments are literals. Every method returns false if the text is something else.
class PythonReader {
 public:
  PythonReader(std::string_view text, const AnswerSyntax& syntax) : text_(text), syntax_(syntax) {}

  bool read_list(std::vector<ToolCall>& calls) {
    if (!take('[')) return false;
    do {
      if (calls.size() >= 64 || !read_call(calls.emplace_back())) return false;
    } while (take(','));
    return take(']') && (skip_blanks(), text_.empty());
  }

 private:
  void skip_blanks() {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(begin, text_.size()));
  }
  bool take(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string read_name() {
    skip_blanks();
    const auto end = std::ranges::find_if_not(text_, is_name_char);
    std::string name(text_.begin(), end);
    text_.remove_prefix(name.size());
    return name;
  }

  bool read_call(ToolCall& call) {
    call.name = read_name();
    if (syntax_.find(call.name) == nullptr || !take('(')) return false;
    json::object arguments;
    while (!take(')')) {
      if (!arguments.empty() && !take(',')) return false;
      if (take(')')) break;  // after a trailing comma
      const std::string name = read_name();
      json::value value;
      if (name.empty() || !take('=') || !read_value(value, 0)) return false;
      arguments[name] = std::move(value);
    }
    call.arguments = base::json_text(arguments);
    return true;
  }

  bool read_value(json::value& value, std::size_t depth) {
    if (depth > JsonScanner::kMaxDepth) return false;
    skip_blanks();
    if (text_.empty()) return false;
    switch (text_.front()) {
      case '\'':
      case '"':
        return read_string(value);
      case '[':
      case '(':
        return read_items(value, depth);
      case '{':
        return read_dict(value, depth);
      default:
        return read_word(value);
    }
  }

  bool read_items(json::value& value, std::size_t depth) {
    const char close = text_.front() == '[' ? ']' : ')';
    text_.remove_prefix(1);
    json::array& items = value.emplace_array();
    while (!take(close)) {
      if (!items.empty() && !take(',')) return false;
      if (take(close)) break;
      if (!read_value(items.emplace_back(nullptr), depth + 1)) return false;
    }
    return true;
  }

  bool read_dict(json::value& value, std::size_t depth) {
    text_.remove_prefix(1);
    json::object& object = value.emplace_object();
    while (!take('}')) {
      if (!object.empty() && !take(',')) return false;
      if (take('}')) break;
      json::value key;
      skip_blanks();
      if (text_.empty() || (text_.front() != '"' && text_.front() != '\'') || !read_string(key)) return false;
      json::value member;
      if (!take(':') || !read_value(member, depth + 1)) return false;
      object[key.get_string()] = std::move(member);
    }
    return true;
  }

  bool read_string(json::value& value) {
    const char quote = text_.front();
    text_.remove_prefix(1);
    std::string out;
    while (!text_.empty() && text_.front() != quote) {
      char c = text_.front();
      text_.remove_prefix(1);
      if (c == '\\') {
        if (text_.empty()) return false;
        c = text_.front();
        text_.remove_prefix(1);
        constexpr std::string_view kLetters = "nrtb0";
        constexpr std::string_view kMeanings("\n\r\t\b\0", 5);
        if (const auto at = kLetters.find(c); at != std::string_view::npos) c = kMeanings[at];
      }
      out += c;
    }
    if (text_.empty()) return false;
    text_.remove_prefix(1);
    value = out;
    return true;
  }

  bool read_word(json::value& value) {
    const auto end = std::ranges::find_if_not(text_, [](char c) { return is_name_char(c) || c == '+'; });
    const std::string_view word = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(word.size());
    if (word == "True" || word == "true") return value = true, true;
    if (word == "False" || word == "false") return value = false, true;
    if (word == "None" || word == "null") return value = nullptr, true;
    std::int64_t integer = 0;
    const char* first = word.data();
    const char* last = first + word.size();
    if (const auto [p, e] = std::from_chars(first, last, integer); e == std::errc() && p == last)
      return value = integer, true;
    double number = 0;
    const auto [p, e] = std::from_chars(first, last, number);
    if (word.empty() || e != std::errc() || p != last || !std::isfinite(number)) return false;
    value = number;
    return true;
  }

  std::string_view text_;
  const AnswerSyntax& syntax_;
};

}  // namespace

std::optional<std::vector<ToolCall>> calls_of_python(std::string_view text, const AnswerSyntax& syntax) {
  std::vector<ToolCall> calls;
  if (!PythonReader(text, syntax).read_list(calls)) return std::nullopt;
  return calls;
}

}  // namespace kvasir::text
