#include "api/http/caller/site_guard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <utility>

namespace kvasir::api {

namespace ip = boost::asio::ip;
using net::RefusedRequest;

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Returns the host without its port: "[::1]:8000" → "::1", "Localhost.:80" → "localhost".
std::string name_of(std::string_view authority) {
  if (authority.starts_with('[')) return lower(authority.substr(1, authority.find(']') - 1));
  std::string name = lower(authority.substr(0, authority.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

std::optional<ip::address> address_of(const std::string& name) {
  boost::system::error_code error;
  const ip::address address = ip::make_address(name, error);
  if (error) return std::nullopt;
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return ip::address(ip::make_address_v4(ip::v4_mapped, address.to_v6()));
  return address;
}

struct Origin {
  std::string scheme;
  std::string authority;  // in lower case, without the scheme's default port
};

std::string_view default_port(std::string_view scheme) {
  return scheme == "https" ? ":443" : ":80";
}

std::string without_port(std::string_view authority, std::string_view port) {
  if (authority.ends_with(port)) authority.remove_suffix(port.size());
  return lower(authority);
}

// The result is absent for "null" and for anything else that is not a site.
std::optional<Origin> parse_origin(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  std::string scheme = lower(text.substr(0, colon));
  std::string authority = without_port(text.substr(colon + 3), default_port(scheme));
  return Origin{std::move(scheme), std::move(authority)};
}

std::vector<std::string> other_names(const SiteGuard::Options& options) {
  std::vector<std::string> names{lower(options.host)};
  std::array<char, 256> machine{};
  if (::gethostname(machine.data(), machine.size() - 1) == 0 && machine[0] != '\0')
    names.push_back(lower(machine.data()));
  // A proxy in front of this server sends its own name, which the settings list as an origin.
  for (const std::string& listed : options.cors_origins)
    if (const auto origin = parse_origin(listed)) names.push_back(name_of(origin->authority));
  return names;
}

RefusedRequest origin_not_allowed(const net::HttpRequest& head) {
  const auto origin = head.header("origin");
  return {403, "origin_not_allowed",
          fmt::format("The request comes from a web page of another site{}. The setting cors_origins names "
                      "the sites whose pages may call this server.",
                      origin ? fmt::format(" ('{}')", *origin) : "")};
}

RefusedRequest host_not_allowed(std::string_view host) {
  return {
      403, "host_not_allowed",
      fmt::format("This server listens on a loopback address and is not called '{}'. Use localhost, or add "
                  "the site of the proxy that uses this name to the setting cors_origins.",
                  host)};
}

}  // namespace

bool is_loopback(const std::string& name) {
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  const std::optional<ip::address> address = address_of(name);
  return address && address->is_loopback();
}

SiteGuard::SiteGuard(Options options)
    : options_(std::move(options)),
      takes_anybody_(std::ranges::find(options_.cors_origins, "*") != options_.cors_origins.end()),
      on_loopback_(is_loopback(lower(options_.host))),
      names_(other_names(options_)) {}

// Unless the server listens on loopback, any IP address counts as its own: DNS cannot rebind an address, so a
// page from it came from this server.
bool SiteGuard::is_own_name(std::string_view host) const {
  const std::string name = name_of(host);
  if (is_loopback(name) || std::ranges::find(names_, name) != names_.end()) return true;
  return !on_loopback_ && address_of(name).has_value();
}

bool SiteGuard::is_own_origin(std::string_view origin, std::string_view host) const {
  const std::optional<Origin> site = parse_origin(origin);
  if (!site || (site->scheme != "http" && site->scheme != "https")) return false;
  return site->authority == without_port(host, default_port(site->scheme)) && is_own_name(host);
}

bool SiteGuard::comes_from_elsewhere(const net::HttpRequest& head) const {
  // A page that links here cannot read the answer: the user's browser shows it at this server's address.
  if (head.method == "GET" && head.header("sec-fetch-mode") == "navigate") return false;
  if (const auto origin = head.header("origin"))
    return std::ranges::find(options_.cors_origins, *origin) == options_.cors_origins.end() &&
           !is_own_origin(*origin, head.header("host").value_or(""));
  const std::string_view site = head.header("sec-fetch-site").value_or("none");
  return site == "cross-site" || site == "same-site";
}

std::optional<RefusedRequest> SiteGuard::refuse(const net::HttpRequest& head) const {
  if (takes_anybody_ || head.method == "OPTIONS") return std::nullopt;
  // HTTP/1.0 requests may lack a Host header, but no browser sends such requests.
  const auto host = head.header("host");
  if (on_loopback_ && host && !is_own_name(*host)) return host_not_allowed(*host);
  if (comes_from_elsewhere(head)) return origin_not_allowed(head);
  return std::nullopt;
}

}  // namespace kvasir::api
