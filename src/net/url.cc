#include "net/url.h"

#include <algorithm>
#include <cctype>

namespace kvasir::net {

using base::ErrorCode;

namespace {

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5) return false;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  return value > 0 && value <= 65535;
}

// Only printable ASCII without spaces, so that nothing can break out of a request line or a header.
bool is_clean(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool starts_with_word(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  return std::equal(lower.begin(), lower.end(), text.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

std::string default_port(bool tls) {
  return tls ? "443" : "80";
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == default_port(tls) ? name : name + ":" + port;
}

std::string Url::text() const {
  return (tls ? "https://" : "http://") + authority() + target;
}

bool Url::same_origin(const Url& other) const {
  return tls == other.tls && host == other.host && port == other.port;
}

base::Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string_view reason) {
    // The text before an "@" may contain a password.
    const std::string_view shown = text.find('@') == std::string_view::npos ? text.substr(0, 200) : "...";
    return base::error(ErrorCode::invalid_argument, "'{}' is not an address: {}", shown, reason);
  };
  if (!is_clean(text)) return wrong("it holds spaces or characters outside ASCII");
  Url url;
  std::string_view rest = text;
  if (starts_with_word(text, "https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (starts_with_word(text, "http://")) {
    rest.remove_prefix(7);
  } else {
    return wrong("it must begin with http:// or https://");
  }
  rest = rest.substr(0, rest.find('#'));
  const std::size_t path = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, path);
  if (path != std::string_view::npos) {
    url.target = rest.substr(path);
    if (url.target[0] == '?') url.target.insert(0, "/");
  }
  if (authority.find('@') != std::string_view::npos) return wrong("a user name in it is not supported");
  std::string_view port;
  if (!authority.empty() && authority[0] == '[') {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return wrong("'[' without ']'");
    url.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && port[0] != ':') return wrong("text after ']'");
  } else {
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (url.host.empty()) return wrong("it names no host");
  std::transform(url.host.begin(), url.host.end(), url.host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (port.size() > 1 && !is_port(port.substr(1))) return wrong("the port is not a number from 1 to 65535");
  url.port = port.size() > 1 ? std::string(port.substr(1)) : default_port(url.tls);
  return url;
}

base::Result<Url> resolve_location(const Url& from, std::string_view location) {
  if (starts_with_word(location, "http://") || starts_with_word(location, "https://"))
    return parse_url(location);
  if (location.starts_with("//")) return parse_url((from.tls ? "https:" : "http:") + std::string(location));
  Url base = from;
  base.target = "/";
  const std::string origin = base.text();
  if (location.starts_with("/")) return parse_url(origin + std::string(location.substr(1)));
  std::string folder = from.target.substr(0, from.target.find('?'));
  folder.resize(folder.rfind('/') + 1);
  return parse_url(origin + folder.substr(1) + std::string(location));
}

}  // namespace kvasir::net
