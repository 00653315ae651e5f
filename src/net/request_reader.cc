#include "net/request_reader.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "net/arriving_body.h"
#include "net/request_target.h"

namespace kvasir::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t kHeadReadBytes = 4 * 1024;
constexpr std::size_t kBodyReadBytes = 64 * 1024;
constexpr std::size_t kMaxDrainBytes = 64 * 1024 * 1024;
// The most bytes read in one turn, so that a fast peer does not keep the thread to itself.
constexpr std::size_t kTurnBytes = 256 * 1024;
constexpr base::Duration kDrainTime = std::chrono::seconds(2);

RefusedRequest malformed(std::string_view why) {
  return {400, "malformed_request", fmt::format("The request is not valid HTTP: {}.", why)};
}

RefusedRequest head_too_large(const ServerOptions& options) {
  return {
      431, "headers_too_large",
      fmt::format("The request line and headers are over the limit of {} bytes.", options.max_header_bytes)};
}

RefusedRequest bodies_too_large(std::size_t max_bytes) {
  return {
      503, "server_overloaded",
      fmt::format("The bodies of the requests under way take all of the {} bytes that they may. Try again.",
                  max_bytes)};
}

// Lines must end with CR LF, even if other servers are lenient: without the CR the parser would wait forever.
bool has_bare_line_feed(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    if (at == 0 || text[at - 1] != '\r') return true;
  return false;
}

std::string_view text_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

RefusedRequest refusal_of(const error_code& error, const ServerOptions& options) {
  if (error == http::error::header_limit) return head_too_large(options);
  if (error == http::error::body_limit) {
    return {413, "request_too_large",
            fmt::format("The request body is over the limit of {} bytes.", options.max_body_bytes)};
  }
  if (error == http::error::bad_version) {
    return {505, "unsupported_http_version", "Only HTTP/1.1 and HTTP/1.0 are spoken here."};
  }
  return malformed(error.message());
}

// Refuses framing that is legal but unsupported here, and framing that two readers could understand
// differently.
std::optional<RefusedRequest> check_framing(const http::request_header<>& head) {
  std::size_t num_codings = 0;
  bool only_chunked = true;
  for (const auto& field : head) {
    if (field.name() != http::field::transfer_encoding) continue;
    ++num_codings;
    only_chunked = only_chunked && boost::beast::iequals(field.value(), "chunked");
  }
  if (num_codings > 1 || !only_chunked) {
    return RefusedRequest{501, "unsupported_transfer_encoding",
                          "The only Transfer-Encoding understood here is one 'chunked'."};
  }
  if (num_codings == 1 && head.version() == 10) return malformed("HTTP/1.0 has no Transfer-Encoding");
  if (head.version() == 11 && head.count(http::field::host) != 1) {
    return malformed("exactly one Host header is required");
  }
  if (head.method() == http::verb::connect) {
    return RefusedRequest{501, "unsupported_method", "CONNECT is not supported."};
  }
  const auto expect = head.find(http::field::expect);
  if (expect != head.end() && !boost::beast::iequals(expect->value(), "100-continue")) {
    return RefusedRequest{417, "unsupported_expectation", "The only expectation understood is 100-continue."};
  }
  return std::nullopt;
}

// Adds the client's headers to a refusal, as far as they were read.
ReadOutcome named(ReadOutcome outcome, const http::request_header<>& head) {
  if (auto* refused = std::get_if<RefusedRequest>(&outcome)) {
    refused->request_id = head["x-request-id"];
    refused->origin = head["origin"];
  }
  return outcome;
}

}  // namespace

// The parser of one request. It also counts bytes against the header limit.
class RequestReader::Parse {
 public:
  explicit Parse(const ServerOptions& options) : options_(options) {
    parser_.header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
    parser_.body_limit(options.max_body_bytes);
    parser_.eager(false);
    parser_.on_chunk_header(count_chunk_);
  }
  Parse(const Parse&) = delete;
  Parse& operator=(const Parse&) = delete;

  // Parses the bytes in the buffer. True once the head, or in the body the whole request, is complete.
  base::Result<bool> feed(boost::beast::flat_buffer& buffer) {
    // The parser takes a head only as a whole, so until then all of it is in the buffer.
    if (!in_body_ && has_bare_line_feed(text_of(buffer).substr(0, text_of(buffer).find("\r\n\r\n"))))
      return refuse(malformed("a line ends without a carriage return"));
    while (buffer.size() > 0 && !complete()) {
      const bool in_head = !parser_.is_header_done();
      error_code error;
      const std::size_t n = parser_.put(buffer.data(), error);
      buffer.consume(n);
      (in_head ? head_bytes_ : body_stream_bytes_) += n;
      if (head_bytes_ > options_.max_header_bytes) error = http::error::header_limit;
      if (error && error != http::error::need_more) return refuse(refusal_of(error, options_));
      if (framing_too_long()) return refuse(malformed("its chunk extensions or trailers are too long"));
      if (error || n == 0) break;
    }
    if (complete()) return true;
    // The parser leaves a chunk header or trailer in the buffer until its end arrives.
    if (in_body_ && has_bare_line_feed(text_of(buffer)))
      return refuse(malformed("a chunk's line ends without a carriage return"));
    if (buffer.size() >= options_.max_header_bytes)
      return refuse(in_body_ ? malformed("a chunk header or trailer is too long") : head_too_large(options_));
    return false;
  }
  // Switches from the head to the body.
  void begin_body() {
    in_body_ = true;
    parser_.eager(true);
  }
  // Skips empty lines before a request. They count against the header limit.
  void skip_blank_lines(boost::beast::flat_buffer& buffer) {
    const auto* bytes = static_cast<const char*>(buffer.data().data());
    std::size_t n = 0;
    while (n < buffer.size() && (bytes[n] == '\r' || bytes[n] == '\n')) ++n;
    buffer.consume(n);
    head_bytes_ += n;
  }

  bool complete() const { return in_body_ ? parser_.is_done() : parser_.is_header_done(); }
  bool blank() const { return !parser_.got_some(); }
  bool over_limit() const { return head_bytes_ > options_.max_header_bytes; }
  http::request_header<>& head() { return parser_.get().base(); }
  std::string& body() { return parser_.get().body(); }
  bool keep_alive() const { return parser_.get().keep_alive(); }
  RefusedRequest refusal() { return std::move(refusal_); }

 private:
  base::Error refuse(RefusedRequest refusal) {
    refusal_ = std::move(refusal);
    return base::error(base::ErrorCode::invalid_argument, "refused");
  }
  // Besides the body, a chunk has a size of up to 16 digits and two line ends. Everything beyond that is
  // extensions and trailers, whose total is bounded, however the reads were cut.
  bool framing_too_long() const {
    constexpr std::size_t kChunkBytes = 20;
    const std::size_t usual = parser_.get().body().size() + num_chunks_ * kChunkBytes;
    return body_stream_bytes_ > usual + options_.max_header_bytes;
  }

  const ServerOptions& options_;
  http::request_parser<ArrivingBody> parser_;
  std::size_t num_chunks_ = 0;
  std::function<void(std::uint64_t, boost::beast::string_view, error_code&)> count_chunk_ =
      [this](std::uint64_t, boost::beast::string_view, error_code&) { ++num_chunks_; };
  std::size_t head_bytes_ = 0;
  std::size_t body_stream_bytes_ = 0;
  bool in_body_ = false;
  RefusedRequest refusal_;
};

// corrupt: the peer closed its side. Other errors are those of DeadlineSocket::wait_readable.
asio::awaitable<base::Status> RequestReader::fill(std::size_t at_most, base::TimePoint deadline) {
  for (;;) {
    const DeadlineSocket::Taken taken = socket_.take(buffer_.prepare(at_most));
    if (taken.found == DeadlineSocket::Found::end || taken.found == DeadlineSocket::Found::broken) {
      co_return base::error(base::ErrorCode::corrupt, "the peer closed");
    }
    if (taken.found == DeadlineSocket::Found::bytes) {
      buffer_.commit(taken.num_bytes);
      taken_without_waiting_ += taken.num_bytes;
      if (taken_without_waiting_ > kTurnBytes) {
        taken_without_waiting_ = 0;
        co_await asio::post(socket_.executor(), asio::use_awaitable);
      }
      co_return base::ok();
    }
    taken_without_waiting_ = 0;
    if (idle_) buffer_.shrink_to_fit();
    base::Status ready = co_await socket_.wait_readable(deadline);
    if (!ready.ok()) co_return std::move(ready);
  }
}

asio::awaitable<std::optional<ReadOutcome>> RequestReader::read_head(Parse& parse) {
  const base::TimePoint deadline = base::RealClock().now() + options_.header_timeout;
  for (;;) {
    if (parse.blank()) parse.skip_blank_lines(buffer_);
    if (parse.over_limit()) co_return head_too_large(options_);
    const base::Result<bool> fed = parse.feed(buffer_);
    if (!fed.ok()) co_return parse.refusal();
    if (*fed) co_return std::nullopt;
    const base::Status filled = co_await fill(kHeadReadBytes, deadline);
    if (filled.ok()) continue;
    if (filled.error().code == base::ErrorCode::timeout) {
      co_return RefusedRequest{408, "header_timeout",
                               fmt::format("The request's headers did not arrive within {} s.",
                                           base::seconds(options_.header_timeout))};
    }
    if (filled.error().code == base::ErrorCode::corrupt) co_return malformed("it ended within the headers");
    co_return ConnectionEnded{};
  }
}

asio::awaitable<base::Status> RequestReader::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  std::array<asio::const_buffer, 1> buffers{asio::buffer(kContinue)};
  co_return co_await socket_.write(buffers, write_pace(options_));
}

asio::awaitable<std::optional<ReadOutcome>> RequestReader::read_body(Parse& parse, BodyShare& share) {
  const base::TimePoint deadline = base::RealClock().now() + options_.body_timeout;
  for (;;) {
    const base::Result<bool> fed = parse.feed(buffer_);
    if (!fed.ok()) co_return parse.refusal();
    if (!share.cover(parse.body().capacity() + buffer_.capacity()))
      co_return bodies_too_large(bodies_->max_bytes());
    if (*fed) co_return std::nullopt;
    const base::Status filled = co_await fill(kBodyReadBytes, deadline);
    if (filled.ok()) continue;
    if (filled.error().code == base::ErrorCode::timeout) {
      co_return RefusedRequest{408, "body_timeout",
                               fmt::format("The request's body did not arrive within {} s.",
                                           base::seconds(options_.body_timeout))};
    }
    if (filled.error().code == base::ErrorCode::corrupt) co_return malformed("it ended within the body");
    co_return ConnectionEnded{};
  }
}

asio::awaitable<ReadOutcome> RequestReader::next(base::TimePoint quiet_until) {
  Parse parse(options_);
  idle_ = buffer_.size() == 0;
  if (idle_) {
    const base::Status arrived = co_await fill(kHeadReadBytes, quiet_until);
    idle_ = false;
    if (!arrived.ok()) co_return ConnectionEnded{};
  }
  std::optional<ReadOutcome> failed = co_await read_head(parse);
  if (failed) co_return named(std::move(*failed), parse.head());
  if (auto refused = check_framing(parse.head())) co_return named(std::move(*refused), parse.head());

  // Read before the body, since the trailers of a chunked body are not headers.
  ParsedRequest parsed;
  const http::request_header<>& head = parse.head();
  parsed.keep_alive = parse.keep_alive();
  parsed.is_http_1_0 = head.version() < 11;
  parsed.is_head = head.method() == http::verb::head;
  parsed.request.method = parsed.is_head ? "GET" : std::string(head.method_string());
  if (!split_target(head.target(), parsed.request))
    co_return named(malformed("its target is not a path"), head);
  for (const auto& field : head) {
    parsed.request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  if (options_.refuse_head) {
    if (auto refused = options_.refuse_head(parsed.request)) {
      refused->path = parsed.request.path;
      co_return named(std::move(*refused), head);
    }
  }

  parse.begin_body();
  // HTTP/1.0 has no interim responses. A client that sends the body at once does not wait for one.
  const bool waits = !parsed.is_http_1_0 && head.count(http::field::expect) > 0;
  if (waits && !parse.complete() && buffer_.size() == 0) {
    if (options_.wants_body && !options_.wants_body(parsed.request)) {
      parsed.keep_alive = false;
      co_return std::move(parsed);
    }
    const base::Status sent = co_await send_continue();
    if (!sent.ok()) co_return ConnectionEnded{};
  }
  const auto share = std::make_shared<BodyShare>(bodies_);
  failed = co_await read_body(parse, *share);
  if (failed) co_return named(std::move(*failed), head);
  parsed.request.body = std::move(parse.body());
  if (!parsed.request.body.empty()) parsed.request.body_hold = share;
  co_return std::move(parsed);
}

DeadlineSocket::Found RequestReader::read_ahead() {
  for (;;) {
    if (buffer_.size() >= options_.max_header_bytes) return DeadlineSocket::Found::bytes;
    const DeadlineSocket::Taken taken = socket_.take(buffer_.prepare(kHeadReadBytes));
    if (taken.found != DeadlineSocket::Found::bytes) return taken.found;
    buffer_.commit(taken.num_bytes);
  }
}

asio::awaitable<void> RequestReader::drain() {
  const base::TimePoint deadline = base::RealClock().now() + kDrainTime;
  std::size_t drained = 0;
  buffer_.clear();
  while (drained < kMaxDrainBytes) {
    const base::Status filled = co_await fill(kBodyReadBytes, deadline);
    if (!filled.ok()) co_return;
    drained += buffer_.size();
    buffer_.clear();
  }
}

}  // namespace kvasir::net
