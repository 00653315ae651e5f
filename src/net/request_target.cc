#include "net/request_target.h"

#include <boost/beast/core/string.hpp>

namespace kvasir::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "http://host/path" → "/path". Anything else is returned as it is.
std::string_view without_origin(std::string_view target) {
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (!boost::beast::iequals(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t slash = target.find_first_of("/?", scheme.size());
    return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  return target;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

bool split_target(std::string_view target, HttpRequest& into) {
  if (target == "*") {
    into.path = "*";
    return true;
  }
  target = without_origin(target);
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  if (question != std::string_view::npos) into.query = target.substr(question + 1);
  std::optional<std::string> path = percent_decode(target.substr(0, question));
  if (!path || path->empty() || path->front() != '/') return false;
  into.path = std::move(*path);
  return true;
}

}  // namespace kvasir::net
