#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json_append.h"
#include "base/utf8.h"

namespace kvasir::base {

namespace {

constexpr const char* kLoneSurrogate = "a \\u escape is a lone surrogate, half of a character";

// Whether the text ends with a \u escape for the first half of a surrogate pair.
bool ends_in_half(std::string_view text) {
  if (text.size() < 6) return false;
  const std::string_view escape = text.substr(text.size() - 6);
  return escape.starts_with("\\u") && (escape[2] == 'd' || escape[2] == 'D') &&
         std::string_view("89abAB").find(escape[3]) != std::string_view::npos;
}

std::string reason_of(const boost::system::error_code& code, std::string_view before,
                      const JsonLimits& limits) {
  if (code == json::error::too_deep) return fmt::format("nested deeper than {} levels", limits.max_depth);
  for (const json::error lone : {json::error::expected_utf16_escape, json::error::illegal_leading_surrogate,
                                 json::error::illegal_trailing_surrogate})
    if (code == lone) return kLoneSurrogate;
  if (code == json::error::syntax && ends_in_half(before)) return kLoneSurrogate;
  return code.message();
}

// Returns the letter of a character's short escape; 0 if it has none.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

bool is_escaped(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

void append_escape(std::string& out, char c) {
  if (const char letter = short_escape(c); letter != 0) {
    out += '\\';
    out += letter;
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

// Copies each run of characters that need no escape in one piece, since nearly all need none.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto stop = std::ranges::find_if(text, is_escaped);
    const auto num_plain = static_cast<std::size_t>(stop - text.begin());
    out.append(text, 0, num_plain);
    if (stop == text.end()) break;
    append_escape(out, *stop);
    text.remove_prefix(num_plain + 1);
  }
  out += '"';
}

template <class Integer>
void append_integer(std::string& out, Integer number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

void append_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}", number);
  if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
}

void append(std::string& out, const json::value& value);

void append_array(std::string& out, const json::array& array) {
  out += '[';
  for (const json::value& item : array) {
    if (&item != array.begin()) out += ',';
    append(out, item);
  }
  out += ']';
}

void append_object(std::string& out, const json::object& object) {
  out += '{';
  for (const auto& member : object) {
    if (&member != object.begin()) out += ',';
    append_string(out, member.key());
    out += ':';
    append(out, member.value());
  }
  out += '}';
}

void append(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      out += "null";
      break;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case json::kind::int64:
      append_integer(out, value.get_int64());
      break;
    case json::kind::uint64:
      append_integer(out, value.get_uint64());
      break;
    case json::kind::double_:
      append_double(out, value.get_double());
      break;
    case json::kind::string:
      append_string(out, value.get_string());
      break;
    case json::kind::array:
      append_array(out, value.get_array());
      break;
    case json::kind::object:
      append_object(out, value.get_object());
      break;
  }
}

}  // namespace

Result<json::value> parse_json(std::string_view text, JsonLimits limits) {
  json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.max_depth);
  json::stream_parser parser(json::storage_ptr(), options);
  boost::system::error_code code;
  const std::size_t consumed = parser.write_some(text, code);
  if (!code && consumed < text.size()) code = json::error::extra_data;
  if (!code) parser.finish(code);
  if (!code) return parser.release();
  if (const std::size_t valid = utf8_valid_prefix(text); valid < text.size())
    return Error{
        ErrorCode::invalid_argument, fmt::format("not valid UTF-8 (at byte {})", valid), {}, "invalid_utf8"};
  return Error{ErrorCode::invalid_argument,
               fmt::format("not valid JSON: {} (at byte {})",
                           reason_of(code, text.substr(0, consumed), limits), consumed),
               {},
               "invalid_json"};
}

void append_json(std::string& out, std::string_view text) {
  append_string(out, text);
}

void append_json(std::string& out, std::int64_t number) {
  append_integer(out, number);
}

void append_json(std::string& out, const json::value& value) {
  append(out, value);
}

std::string json_text(const json::value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string json_text(const json::object& object) {
  std::string out;
  append_object(out, object);
  return out;
}

}  // namespace kvasir::base
