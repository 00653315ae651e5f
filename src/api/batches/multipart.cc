#include "api/batches/multipart.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMaxParts = 32;

Error malformed(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message), {}, "invalid_form"};
}

bool equal_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Removes a parameter's value, quoted or not, from the front of `rest` and returns it.
std::string take_value(std::string_view& rest) {
  std::string value;
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    value = trim(rest.substr(0, end));
    rest.remove_prefix(end);
    return value;
  }
  std::size_t i = 1;
  for (; i < rest.size() && rest[i] != '"'; ++i) {
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    value += rest[i];
  }
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return value;
}

// Returns the parameter `name` of a header such as "form-data; name=a; filename=b".
std::optional<std::string> parameter_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t semicolon = header.find(';');
    if (semicolon == header.npos) break;
    header = trim(header.substr(semicolon + 1));
    const std::size_t equals = header.find('=');
    if (equals == header.npos) break;
    const std::string_view found = trim(header.substr(0, equals));
    header.remove_prefix(equals + 1);
    std::string value = take_value(header);
    if (equal_without_case(found, name)) return value;
  }
  return std::nullopt;
}

Result<FormPart> parse_part(std::string_view part) {
  const std::size_t end = part.find("\r\n\r\n");
  if (end == part.npos) return malformed("a part of the form has no end of its headers");
  std::string_view headers = part.substr(0, end);
  FormPart parsed;
  parsed.contents = part.substr(end + 4);
  bool named = false;
  while (!headers.empty()) {
    const std::string_view line = headers.substr(0, headers.find("\r\n"));
    headers.remove_prefix(std::min(headers.size(), line.size() + 2));
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !equal_without_case(trim(line.substr(0, colon)), "content-disposition"))
      continue;
    const std::string_view value = line.substr(colon + 1);
    const std::optional<std::string> name = parameter_of(value, "name");
    named = name.has_value();
    parsed.name = name.value_or("");
    parsed.filename = parameter_of(value, "filename").value_or("");
  }
  if (!named) return malformed("a part of the form has no name");
  return parsed;
}

}  // namespace

Result<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body) {
  const std::string_view kind = trim(content_type.substr(0, content_type.find(';')));
  const std::optional<std::string> boundary = parameter_of(content_type, "boundary");
  if (!equal_without_case(kind, "multipart/form-data") || !boundary || boundary->empty())
    return malformed("expected a body of multipart/form-data with a boundary");
  const std::string mark = "--" + *boundary;
  std::vector<FormPart> parts;
  std::size_t at = body.starts_with(mark) ? 0 : body.find("\r\n" + mark);
  if (at == body.npos) return malformed("the form's boundary is not in its body");
  if (at != 0) at += 2;
  while (true) {
    at += mark.size();
    if (body.substr(at).starts_with("--")) return parts;
    if (!body.substr(at).starts_with("\r\n")) return malformed("the form is cut off");
    at += 2;
    const std::size_t end = body.find("\r\n" + mark, at);
    if (end == body.npos) return malformed("the form is cut off");
    if (parts.size() == kMaxParts) return malformed("the form has too many parts");
    TRY(FormPart part, parse_part(body.substr(at, end - at)));
    parts.push_back(std::move(part));
    at = end + 2;
  }
}

}  // namespace kvasir::api
