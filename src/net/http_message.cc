#include "net/http_message.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <cstddef>
#include <utility>

namespace kvasir::net {

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& h : headers) {
    if (boost::beast::iequals(h.name, name)) return h.value;
  }
  return std::nullopt;
}

HttpResponse::HttpResponse(int status_in, std::string content_type_in, std::string body_in)
    : status(status_in), content_type(std::move(content_type_in)), body(std::move(body_in)) {}

HttpResponse HttpResponse::json(int status, std::string body) {
  return HttpResponse(status, "application/json", std::move(body));
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  out.append(value);
  std::replace_if(
      out.begin() + begin, out.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  out.append("\r\n");
}

std::string_view reason_phrase(int status) {
  const auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  if (known == boost::beast::http::status::unknown) return {};
  return boost::beast::http::obsolete_reason(known);
}

}  // namespace kvasir::net
