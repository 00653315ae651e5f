#include "net/client_connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <utility>

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
constexpr int kMaxInformational = 8;  // interim responses (100, 103) before the final one
constexpr std::size_t kBodyBytes = 64 * 1024;
constexpr std::size_t kMaxAddresses = 2;  // addresses of one host to try

base::Result<std::shared_ptr<ssl::context>> trust(const HttpClientOptions& options) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  error_code code;
  context->set_default_verify_paths(code);
  if (!code && !options.ca_file.empty()) {
    context->load_verify_file(options.ca_file, code);
    if (code)
      return base::error(ErrorCode::invalid_argument, "cannot read the certificates in {}: {}",
                         options.ca_file, code.message());
  }
  return context;
}

}  // namespace

base::Result<std::shared_ptr<const Origin>> Origin::find(const Url& url, const HttpClientOptions& options,
                                                         std::stop_token stop) {
  auto origin = std::make_shared<Origin>();
  origin->options = options;
  origin->url = url;
  TRY(origin->endpoints, resolve(url.host, url.port, options.connect_timeout, std::move(stop)));
  if (url.tls) {
    TRY(origin->tls, trust(options));
  }
  return std::shared_ptr<const Origin>(std::move(origin));
}

// A socket, with TLS if the origin uses it, and bytes that were read ahead.
class ClientConnection::Wire {
 public:
  Wire(const asio::any_io_executor& executor, const Origin& origin) : origin_(origin), executor_(executor) {}

  bool open() const { return kept_; }
  void abort() {
    aborted_ = true;
    kept_ = false;
    if (tcp_ != nullptr) tcp_->close();
  }

  asio::awaitable<base::Result<HttpReply>> exchange(const HttpCall& call, const ReplySink& sink) {
    aborted_ = false;
    bool reused = kept_;
    base::Status status = base::ok();
    do {
      kept_ = false;
      reply_ = {};
      answered_ = false;
      if (!reused) status = co_await connect();
      if (status.ok()) status = co_await converse(call, sink);
      // The server may close a kept connection at any time, which is not a failure of this request.
    } while (!status.ok() && std::exchange(reused, false) && !answered_ && !aborted_);
    if (!kept_) close();
    if (aborted_) co_return base::error(ErrorCode::cancelled, "cancelled");
    if (!status.ok()) co_return std::move(status).error();
    co_return std::move(reply_);
  }

 private:
  using TlsStream = ssl::stream<beast::tcp_stream>;

  void close() {
    tcp_ = nullptr;
    plain_.reset();
    tls_.reset();
    buffer_.clear();
  }

  base::Error unreachable(const error_code& code) const {
    if (code == beast::error::timeout)
      return base::error(ErrorCode::unavailable, "cannot reach {}: no answer in {} ms",
                         origin_.url.authority(), origin_.options.connect_timeout.count());
    return base::error(ErrorCode::unavailable, "cannot reach {}: {}", origin_.url.authority(),
                       code.message());
  }

  base::Error broken(const error_code& code) const {
    if (code == beast::error::timeout)
      return base::error(ErrorCode::timeout, "{} sent nothing for {} ms", origin_.url.authority(),
                         origin_.options.read_timeout.count());
    if (code == http::error::partial_message || code == http::error::end_of_stream ||
        code == asio::error::eof || code == ssl::error::stream_truncated)
      return base::error(ErrorCode::io, "{} closed the connection before the end of its answer",
                         origin_.url.authority());
    return base::error(ErrorCode::io, "the exchange with {} broke: {}", origin_.url.authority(),
                       code.message());
  }

  asio::awaitable<base::Status> connect() {
    close();
    if (origin_.tls) {
      tls_.emplace(executor_, *origin_.tls);
      tcp_ = &tls_->next_layer();
    } else {
      plain_.emplace(executor_);
      tcp_ = &*plain_;
    }
    error_code last = asio::error::host_not_found;
    std::size_t num_timeouts = 0;
    bool connected = false;
    for (const tcp::endpoint& endpoint : origin_.endpoints) {
      if (aborted_ || num_timeouts == kMaxAddresses) break;
      tcp_->expires_after(origin_.options.connect_timeout);
      const auto [code] = co_await tcp_->async_connect(endpoint, kAwait);
      connected = !code;
      if (connected) break;
      last = code;
      if (code == beast::error::timeout) num_timeouts++;
    }
    if (!connected) co_return unreachable(last);
    error_code ignored;
    tcp_->socket().set_option(tcp::no_delay(true), ignored);
    if (tls_) co_return co_await shake_hands();
    co_return base::ok();
  }

  asio::awaitable<base::Status> shake_hands() {
    SSL_set_min_proto_version(tls_->native_handle(), TLS1_2_VERSION);
    tls_->set_verify_mode(ssl::verify_peer);
    tls_->set_verify_callback(ssl::host_name_verification(origin_.url.host));
    error_code not_an_address;
    asio::ip::make_address(origin_.url.host, not_an_address);
    if (not_an_address) SSL_set_tlsext_host_name(tls_->native_handle(), origin_.url.host.c_str());
    tcp_->expires_after(origin_.options.connect_timeout);
    const auto [failure] = co_await tls_->async_handshake(ssl::stream_base::client, kAwait);
    if (!failure) co_return base::ok();
    const long verdict = SSL_get_verify_result(tls_->native_handle());
    if (verdict == X509_V_OK) co_return unreachable(failure);
    co_return base::error(ErrorCode::unavailable, "cannot trust {}: {}", origin_.url.authority(),
                          X509_verify_cert_error_string(verdict));
  }

  http::request<http::string_body> request(const HttpCall& call) const {
    http::request<http::string_body> request;
    request.version(11);
    request.method_string(call.method);
    request.target(call.url.target);
    request.set(http::field::host, call.url.authority());
    request.set(http::field::user_agent, origin_.options.user_agent);
    if (!origin_.options.keep_alive) request.set(http::field::connection, "close");
    for (const HttpHeader& header : call.headers) request.insert(header.name, header.value);
    request.body() = call.body;
    if (!call.body.empty() || call.method == "POST") request.prepare_payload();
    return request;
  }

  asio::awaitable<base::Status> converse(const HttpCall& call, const ReplySink& sink) {
    if (tls_) return converse_over(*tls_, call, sink);
    return converse_over(*plain_, call, sink);
  }

  template <class Stream>
  asio::awaitable<base::Status> converse_over(Stream& stream, const HttpCall& call, const ReplySink& sink) {
    const http::request<http::string_body> message = request(call);
    tcp_->expires_after(origin_.options.read_timeout);
    const auto [write_failure, num_written] = co_await http::async_write(stream, message, kAwait);
    if (write_failure) co_return broken(write_failure);
    std::optional<http::response_parser<http::buffer_body>> parsers;
    tcp_->expires_after(origin_.options.read_timeout);
    for (int num_informational = 0;; ++num_informational) {
      parsers.emplace();
      parsers->header_limit(kMaxHeaderBytes);
      parsers->body_limit(boost::none);
      parsers->skip(call.method == "HEAD");
      const auto [failure, num_read] = co_await http::async_read_header(stream, buffer_, *parsers, kAwait);
      answered_ = answered_ || num_read > 0 || failure == beast::error::timeout;
      if (failure) co_return broken(failure);
      const unsigned status = parsers->get().result_int();
      if (status < 100 || status >= 200 || status == 101 || num_informational == kMaxInformational) break;
    }
    http::response_parser<http::buffer_body>& parser = *parsers;
    reply_.status = static_cast<int>(parser.get().result_int());
    reply_.url = call.url;
    for (const auto& field : parser.get())
      reply_.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    if (is_redirect(reply_.status)) co_return base::ok();
    if (base::Status status = sink.head(reply_); !status.ok()) co_return status;
    base::Status status = co_await read_body(stream, parser, sink);
    kept_ = status.ok() && origin_.options.keep_alive && parser.get().keep_alive() && !aborted_;
    if (kept_) tcp_->expires_never();
    co_return status;
  }

  template <class Stream>
  asio::awaitable<base::Status> read_body(Stream& stream, http::response_parser<http::buffer_body>& parser,
                                          const ReplySink& sink) {
    chunk_.resize(kBodyBytes);
    while (!parser.is_done()) {
      parser.get().body().data = chunk_.data();
      parser.get().body().size = chunk_.size();
      tcp_->expires_after(origin_.options.read_timeout);
      auto [code, num_read] = co_await http::async_read_some(stream, buffer_, parser, kAwait);
      if (code == http::error::need_buffer) code = {};
      const std::size_t size = chunk_.size() - parser.get().body().size;
      if (size > 0) {
        base::Status status = sink.body(std::string_view(chunk_).substr(0, size));
        if (!status.ok()) co_return status;
      }
      if (code) co_return broken(code);
    }
    co_return base::ok();
  }

  const Origin& origin_;
  const asio::any_io_executor executor_;
  std::optional<beast::tcp_stream> plain_;
  std::optional<TlsStream> tls_;
  beast::tcp_stream* tcp_ = nullptr;  // lowest layer of the stream in use
  beast::flat_buffer buffer_;
  std::string chunk_;
  HttpReply reply_;
  bool answered_ = false;  // a byte of the answer has come
  bool kept_ = false;
  bool aborted_ = false;
};

ClientConnection::ClientConnection(const asio::any_io_executor& executor,
                                   std::shared_ptr<const Origin> origin)
    : origin_(std::move(origin)), wire_(std::make_unique<Wire>(executor, *origin_)) {}

ClientConnection::~ClientConnection() = default;

asio::awaitable<base::Result<HttpReply>> ClientConnection::exchange(const HttpCall& call,
                                                                    const ReplySink& sink) {
  return wire_->exchange(call, sink);
}

void ClientConnection::abort() {
  wire_->abort();
}

bool ClientConnection::open() const {
  return wire_->open();
}

}  // namespace kvasir::net
