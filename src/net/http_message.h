#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvasir::net {

class BodyShare;

// These types have constructors on purpose: g++ 12 destroys an aggregate temporary inside a co_await
// expression twice. If an argument of an awaited call is built with braces, give it a name first.
struct HttpHeader {
  HttpHeader() = default;
  HttpHeader(std::string name_in, std::string value_in)
      : name(std::move(name_in)), value(std::move(value_in)) {}

  std::string name;
  std::string value;
};

// A whole request, already within the server's limits. It owns its data and may outlive its connection.
struct HttpRequest {
  std::string method;  // as sent, but "GET" for HEAD; the server drops the answer's body itself
  std::string path;    // percent-decoded, begins with '/'
  std::string query;   // after '?', raw
  std::vector<HttpHeader> headers;
  std::string body;
  // While this lives, the body counts against the limit for all bodies. A handler that no longer needs the
  // body, or anything made from it, should release both.
  std::shared_ptr<BodyShare> body_hold;
  std::string peer;  // address of the client, without the port

  // The first header of that name. Names are compared without case.
  std::optional<std::string_view> header(std::string_view name) const;
};

// The server adds Content-Length, Connection, Date and Server.
struct HttpResponse {
  HttpResponse() = default;
  HttpResponse(int status_in, std::string content_type_in, std::string body_in);
  static HttpResponse json(int status, std::string body);

  int status = 200;
  std::string content_type;  // empty: no such header
  std::vector<HttpHeader> headers;
  std::string body;
  bool keep_alive = true;  // false: the connection closes after this answer
};

// Appends a header's line, without the characters of the value that could end the line early.
void append_field(std::string& out, std::string_view name, std::string_view value);

// "Not Found" for 404; empty for a status without a registered phrase.
std::string_view reason_phrase(int status);

}  // namespace kvasir::net
