#include "net/http_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <exception>

#include "net/resolve.h"

namespace kvasir::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using base::ErrorCode;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::size_t kBodyBytes = 64 * 1024;
constexpr std::size_t kMaxAddresses = 2;  // of one host that are waited for

bool same_name(std::string_view a, std::string_view b) {
  return beast::iequals(beast::string_view(a.data(), a.size()), beast::string_view(b.data(), b.size()));
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// One request and its answer over one connection. Lives on the calling thread's stack; everything but
// `abort` runs inside `run`.
class Exchange {
 public:
  Exchange(const HttpClientOptions& options, const HttpCall& call, const ReplySink& sink)
      : options_(options), call_(call), sink_(sink) {}

  base::Result<HttpReply> run(const std::vector<tcp::endpoint>& endpoints, std::stop_token stop) {
    asio::co_spawn(io_, drive(endpoints), [this](std::exception_ptr thrown) {
      if (thrown) outcome_ = describe(std::move(thrown));
    });
    const std::stop_callback on_stop(stop, [this] { asio::post(io_, [this] { abort(); }); });
    io_.run();
    if (aborted_) return base::error(ErrorCode::cancelled, "cancelled");
    TRY_OK(std::move(outcome_));
    return std::move(reply_);
  }

 private:
  static base::Error describe(std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& e) {
      return base::error(ErrorCode::internal, "HTTP client: {}", e.what());
    }
  }

  void abort() {
    aborted_ = true;
    if (tcp_ != nullptr) tcp_->close();
  }

  base::Error unreachable(const error_code& code) const {
    if (code == beast::error::timeout)
      return base::error(ErrorCode::unavailable, "cannot reach {}: no answer in {} ms", call_.url.authority(),
                         options_.connect_timeout.count());
    return base::error(ErrorCode::unavailable, "cannot reach {}: {}", call_.url.authority(), code.message());
  }

  base::Error broken(const error_code& code) const {
    if (code == beast::error::timeout)
      return base::error(ErrorCode::timeout, "{} sent nothing for {} ms", call_.url.authority(),
                         options_.read_timeout.count());
    if (code == http::error::partial_message || code == http::error::end_of_stream ||
        code == asio::error::eof || code == ssl::error::stream_truncated)
      return base::error(ErrorCode::io, "{} closed the connection before the end of its answer",
                         call_.url.authority());
    return base::error(ErrorCode::io, "the exchange with {} broke: {}", call_.url.authority(),
                       code.message());
  }

  asio::awaitable<void> drive(const std::vector<tcp::endpoint>& endpoints) {
    if (call_.url.tls)
      outcome_ = co_await over_tls(endpoints);
    else
      outcome_ = co_await over_tcp(endpoints);
  }

  asio::awaitable<base::Status> over_tcp(const std::vector<tcp::endpoint>& endpoints) {
    beast::tcp_stream stream(io_);
    tcp_ = &stream;
    base::Status status = co_await connect(endpoints);
    if (status.ok()) status = co_await converse(stream);
    tcp_ = nullptr;
    co_return status;
  }

  asio::awaitable<base::Status> over_tls(const std::vector<tcp::endpoint>& endpoints) {
    ssl::context context(ssl::context::tls_client);
    error_code code;
    context.set_default_verify_paths(code);
    if (!code && !options_.ca_file.empty()) {
      context.load_verify_file(options_.ca_file, code);
      if (code)
        co_return base::error(ErrorCode::invalid_argument, "cannot read the certificates in {}: {}",
                              options_.ca_file, code.message());
    }
    ssl::stream<beast::tcp_stream> stream(io_, context);
    SSL_set_min_proto_version(stream.native_handle(), TLS1_2_VERSION);
    stream.set_verify_mode(ssl::verify_peer);
    stream.set_verify_callback(ssl::host_name_verification(call_.url.host));
    asio::ip::make_address(call_.url.host, code);
    if (code) SSL_set_tlsext_host_name(stream.native_handle(), call_.url.host.c_str());
    tcp_ = &stream.next_layer();
    base::Status status = co_await connect(endpoints);
    if (status.ok()) {
      tcp_->expires_after(options_.connect_timeout);
      const auto [failure] = co_await stream.async_handshake(ssl::stream_base::client, kAwait);
      if (failure)
        status = tls_failure(stream, failure);
      else
        status = co_await converse(stream);
    }
    tcp_ = nullptr;
    co_return status;
  }

  base::Error tls_failure(ssl::stream<beast::tcp_stream>& stream, const error_code& code) const {
    const long verdict = SSL_get_verify_result(stream.native_handle());
    if (verdict == X509_V_OK) return unreachable(code);
    return base::error(ErrorCode::unavailable, "cannot trust {}: {}", call_.url.authority(),
                       X509_verify_cert_error_string(verdict));
  }

  asio::awaitable<base::Status> connect(const std::vector<tcp::endpoint>& endpoints) {
    error_code last = asio::error::host_not_found;
    std::size_t num_timeouts = 0;
    for (const tcp::endpoint& endpoint : endpoints) {
      if (aborted_ || num_timeouts == kMaxAddresses) break;
      tcp_->expires_after(options_.connect_timeout);
      const auto [code] = co_await tcp_->async_connect(endpoint, kAwait);
      if (!code) co_return base::ok();
      last = code;
      if (code == beast::error::timeout) num_timeouts++;
    }
    co_return unreachable(last);
  }

  http::request<http::string_body> request() const {
    http::request<http::string_body> request;
    request.version(11);
    request.method_string(call_.method);
    request.target(call_.url.target);
    request.set(http::field::host, call_.url.authority());
    request.set(http::field::user_agent, options_.user_agent);
    request.set(http::field::connection, "close");
    for (const HttpHeader& header : call_.headers) request.insert(header.name, header.value);
    request.body() = call_.body;
    if (!call_.body.empty() || call_.method == "POST") request.prepare_payload();
    return request;
  }

  template <class Stream>
  asio::awaitable<base::Status> converse(Stream& stream) {
    const http::request<http::string_body> message = request();
    tcp_->expires_after(options_.read_timeout);
    const auto [write_failure, num_written] = co_await http::async_write(stream, message, kAwait);
    if (write_failure) co_return broken(write_failure);
    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(boost::none);
    parser.skip(call_.method == "HEAD");
    tcp_->expires_after(options_.read_timeout);
    const auto [head_failure, num_head] = co_await http::async_read_header(stream, buffer, parser, kAwait);
    if (head_failure) co_return broken(head_failure);
    reply_.status = static_cast<int>(parser.get().result_int());
    reply_.url = call_.url;
    for (const auto& field : parser.get())
      reply_.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    if (is_redirect(reply_.status)) co_return base::ok();
    if (base::Status status = sink_.head(reply_); !status.ok()) co_return status;
    co_return co_await read_body(stream, buffer, parser);
  }

  template <class Stream>
  asio::awaitable<base::Status> read_body(Stream& stream, beast::flat_buffer& buffer,
                                          http::response_parser<http::buffer_body>& parser) {
    std::string chunk(kBodyBytes, '\0');
    while (!parser.is_done()) {
      parser.get().body().data = chunk.data();
      parser.get().body().size = chunk.size();
      tcp_->expires_after(options_.read_timeout);
      auto [code, num_read] = co_await http::async_read_some(stream, buffer, parser, kAwait);
      if (code == http::error::need_buffer) code = {};
      const std::size_t size = chunk.size() - parser.get().body().size;
      if (size > 0) {
        base::Status status = sink_.body(std::string_view(chunk).substr(0, size));
        if (!status.ok()) co_return status;
      }
      if (code) co_return broken(code);
    }
    co_return base::ok();
  }

  const HttpClientOptions& options_;
  const HttpCall& call_;
  const ReplySink& sink_;
  asio::io_context io_{1};
  beast::tcp_stream* tcp_ = nullptr;  // of the coroutine that runs
  bool aborted_ = false;
  HttpReply reply_;
  base::Status outcome_ = base::error(ErrorCode::internal, "HTTP client: no outcome");
};

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  const auto at = std::find_if(headers.begin(), headers.end(),
                               [&](const HttpHeader& header) { return same_name(header.name, name); });
  return at == headers.end() ? std::string_view() : std::string_view(at->value);
}

base::Result<HttpReply> HttpClient::call(const HttpCall& first, const ReplySink& sink,
                                         std::stop_token stop) const {
  HttpCall call = first;
  for (int num_redirects = 0;; num_redirects++) {
    TRY(const auto endpoints, resolve(call.url.host, call.url.port, options_.connect_timeout, stop));
    TRY(HttpReply reply, Exchange(options_, call, sink).run(endpoints, stop));
    if (!is_redirect(reply.status)) return reply;
    if (num_redirects == options_.max_redirects)
      return base::error(ErrorCode::unsupported, "{} redirects more than {} times", first.url.authority(),
                         options_.max_redirects);
    TRY(Url next, resolve_location(call.url, reply.header("location")));
    if (call.url.tls && !next.tls)
      return base::error(ErrorCode::unsupported, "{} redirects from https to http, which is refused",
                         call.url.authority());
    if (!next.same_origin(call.url))
      std::erase_if(call.headers, [](const HttpHeader& header) {
        return same_name(header.name, "authorization") || same_name(header.name, "cookie");
      });
    if (reply.status == 303) {
      call.method = "GET";
      call.body.clear();
    }
    call.url = std::move(next);
  }
}

base::Result<HttpClient::Text> HttpClient::text(const HttpCall& call, std::size_t max_bytes,
                                                std::stop_token stop) const {
  std::string body;
  ReplySink sink;
  sink.body = [&](std::string_view bytes) -> base::Status {
    if (body.size() + bytes.size() > max_bytes)
      return base::error(ErrorCode::too_large, "{} sent more than {} bytes", call.url.authority(), max_bytes);
    body += bytes;
    return base::ok();
  };
  TRY(HttpReply reply, this->call(call, sink, stop));
  return Text{std::move(reply), std::move(body)};
}

}  // namespace kvasir::net
