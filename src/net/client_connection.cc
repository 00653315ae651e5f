#include "net/client_connection.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "net/arriving_body.h"
#include "net/deadline_socket.h"
#include "net/resolve.h"

namespace kvasir::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using base::ErrorCode;
using boost::system::error_code;

namespace {

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr int kMaxInformational = 8;  // interim heads before the answer's own, such as 100 and 103
constexpr std::size_t kReadBytes = 64 * 1024;
// After this many bytes without a wait, other connections of the thread get a turn.
constexpr std::size_t kMaxBytesInARow = 1024 * 1024;
constexpr std::size_t kMaxAddresses = 2;  // of one host that may time out before the attempt fails

using Parser = http::response_parser<ArrivingBody>;

}  // namespace

base::Result<std::shared_ptr<const Origin>> Origin::find(const Url& url, const HttpClientOptions& options,
                                                         std::stop_token stop) {
  auto origin = std::make_shared<Origin>();
  origin->options = options;
  origin->url = url;
  TRY(origin->endpoints, resolve(url.host, url.port, options.connect_timeout, std::move(stop)));
  if (url.tls) {
    TRY(origin->tls, TlsContext::client(options.ca_file));
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
    if (socket_) socket_->shut();
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
  void close() {
    socket_.reset();
    buffer_.clear();
  }

  static base::TimePoint in(std::chrono::milliseconds time) { return base::RealClock().now() + time; }

  base::Error unreachable(const base::Error& error) const {
    if (error.code == ErrorCode::timeout)
      return base::error(ErrorCode::unavailable, "cannot reach {}: no answer in {} ms",
                         origin_.url.authority(), origin_.options.connect_timeout.count());
    return base::error(ErrorCode::unavailable, "cannot {} {}: {}",
                       error.code == ErrorCode::corrupt ? "trust" : "reach", origin_.url.authority(),
                       error.message);
  }
  base::Error silent() const {
    return base::error(ErrorCode::timeout, "{} sent nothing for {} ms", origin_.url.authority(),
                       origin_.options.read_timeout.count());
  }
  base::Error cut_off() const {
    return base::error(ErrorCode::io, "{} closed the connection before the end of its answer",
                       origin_.url.authority());
  }
  base::Error broken(const std::string& why) const {
    return base::error(ErrorCode::io, "the exchange with {} broke: {}", origin_.url.authority(), why);
  }

  asio::awaitable<base::Status> connect() {
    close();
    base::Status status = base::error(ErrorCode::unavailable, "it has no address");
    std::size_t num_timeouts = 0;
    for (const asio::ip::tcp::endpoint& endpoint : origin_.endpoints) {
      if (aborted_ || num_timeouts == kMaxAddresses) break;
      socket_.emplace(executor_);
      status = co_await socket_->connect(endpoint, in(origin_.options.connect_timeout));
      if (status.ok()) break;
      if (status.error().code == ErrorCode::timeout) num_timeouts++;
    }
    if (status.ok() && origin_.tls)
      status =
          co_await socket_->connect_tls(*origin_.tls, origin_.url.host, in(origin_.options.connect_timeout));
    if (!status.ok()) co_return unreachable(status.error());
    co_return base::ok();
  }

  std::string head_of(const HttpCall& call) const {
    std::string head = fmt::format("{} {} HTTP/1.1\r\n", call.method, call.url.target);
    append_field(head, "Host", call.url.authority());
    append_field(head, "User-Agent", origin_.options.user_agent);
    if (!origin_.options.keep_alive) append_field(head, "Connection", "close");
    for (const HttpHeader& header : call.headers) append_field(head, header.name, header.value);
    if (!call.body.empty() || call.method == "POST")
      fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", call.body.size());
    return head + "\r\n";
  }

  asio::awaitable<base::Status> send(const HttpCall& call) {
    const std::string head = head_of(call);
    std::array<asio::const_buffer, 2> buffers{asio::buffer(head), asio::buffer(call.body)};
    const base::Status sent =
        co_await socket_->write(buffers, {.patience = origin_.options.read_timeout, .min_bytes_per_s = 1});
    if (sent.ok()) co_return base::ok();
    if (sent.error().code == ErrorCode::timeout) co_return silent();
    co_return broken(sent.error().message);
  }

  asio::awaitable<base::Status> converse(const HttpCall& call, const ReplySink& sink) {
    base::Status status = co_await send(call);
    std::optional<Parser> parser;
    for (int num_heads = 0; status.ok() && num_heads <= kMaxInformational; ++num_heads) {
      parser.emplace();
      parser->header_limit(kMaxHeaderBytes);
      parser->body_limit(boost::none);
      parser->skip(call.method == "HEAD");
      parser->eager(false);
      while (status.ok() && !parser->is_header_done()) status = co_await advance(*parser);
      const unsigned number = parser->get().result_int();
      if (number < 100 || number >= 200 || number == 101) break;
    }
    if (!status.ok()) co_return std::move(status);
    reply_.status = static_cast<int>(parser->get().result_int());
    reply_.url = call.url;
    for (const auto& field : parser->get())
      reply_.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    if (is_redirect(reply_.status)) co_return base::ok();
    status = sink.head(reply_);
    if (status.ok()) status = co_await read_body(*parser, sink);
    kept_ =
        status.ok() && origin_.options.keep_alive && parser->keep_alive() && buffer_.size() == 0 && !aborted_;
    co_return std::move(status);
  }

  asio::awaitable<base::Status> read_body(Parser& parser, const ReplySink& sink) {
    parser.eager(true);
    while (!parser.is_done()) {
      base::Status status = co_await advance(parser);
      std::string& piece = parser.get().body();
      if (!piece.empty()) {
        base::Status taken = sink.body(piece);
        if (!taken.ok()) co_return std::move(taken);
        piece.clear();
        if (sink.room) co_await sink.room();
      }
      if (!status.ok()) co_return std::move(status);
    }
    co_return base::ok();
  }

  // Gives the parser the bytes that were read, and reads more until it makes progress.
  asio::awaitable<base::Status> advance(Parser& parser) {
    for (;;) {
      error_code code = http::error::need_more;
      if (buffer_.size() > 0) buffer_.consume(parser.put(buffer_.data(), code));
      if (!code) co_return base::ok();
      if (code != http::error::need_more) co_return broken(code.message());
      // The buffer holds a head, or a line between chunks, that has not ended.
      if (buffer_.size() > kMaxHeaderBytes) co_return broken("a line of it is too long");
      if (!parser.get().body().empty()) co_return base::ok();
      const base::Result<DeadlineSocket::Found> found = co_await fill();
      if (!found.ok()) co_return found.error();
      if (*found == DeadlineSocket::Found::bytes) continue;
      if (*found != DeadlineSocket::Found::end || !parser.got_some()) co_return cut_off();
      parser.put_eof(code);
      if (code) co_return cut_off();
      co_return base::ok();
    }
  }

  // Waits for bytes. Returns bytes, end or broken.
  asio::awaitable<base::Result<DeadlineSocket::Found>> fill() {
    for (;;) {
      const DeadlineSocket::Taken taken = socket_->take(buffer_.prepare(kReadBytes));
      if (taken.found != DeadlineSocket::Found::nothing) {
        buffer_.commit(taken.num_bytes);
        answered_ = answered_ || taken.num_bytes > 0;
        bytes_in_a_row_ += taken.num_bytes;
        if (bytes_in_a_row_ > kMaxBytesInARow) {
          bytes_in_a_row_ = 0;
          co_await asio::post(executor_, asio::use_awaitable);
        }
        co_return taken.found;
      }
      bytes_in_a_row_ = 0;
      const base::Status ready = co_await socket_->wait_readable(in(origin_.options.read_timeout));
      if (ready.ok()) continue;
      answered_ = true;
      co_return silent();
    }
  }

  const Origin& origin_;
  const asio::any_io_executor executor_;
  std::optional<DeadlineSocket> socket_;
  beast::flat_buffer buffer_;
  HttpReply reply_;
  std::size_t bytes_in_a_row_ = 0;  // read without waiting
  bool answered_ = false;           // a byte of the answer came, or none within its time
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
