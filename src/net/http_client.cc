#include "net/http_client.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/string.hpp>
#include <exception>
#include <utility>

#include "net/client_connection.h"

namespace kvasir::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
using base::ErrorCode;

namespace {

bool same_name(std::string_view a, std::string_view b) {
  return beast::iequals(beast::string_view(a.data(), a.size()), beast::string_view(b.data(), b.size()));
}

// Runs one exchange over one connection on the calling thread.
class Exchange {
 public:
  Exchange(std::shared_ptr<const Origin> origin, const HttpCall& call, const ReplySink& sink)
      : call_(call), sink_(sink), connection_(io_.get_executor(), std::move(origin)) {}

  base::Result<HttpReply> run(std::stop_token stop) {
    asio::co_spawn(io_, drive(), [this](std::exception_ptr thrown) {
      if (thrown) outcome_ = describe(std::move(thrown));
    });
    const std::stop_callback on_stop(stop, [this] { asio::post(io_, [this] { connection_.abort(); }); });
    io_.run();
    return std::move(outcome_);
  }

 private:
  static base::Error describe(std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& e) {
      return base::error(ErrorCode::internal, "HTTP client: {}", e.what());
    }
  }

  asio::awaitable<void> drive() { outcome_ = co_await connection_.exchange(call_, sink_); }

  const HttpCall& call_;
  const ReplySink& sink_;
  asio::io_context io_{1};
  ClientConnection connection_;
  base::Result<HttpReply> outcome_ = base::error(ErrorCode::internal, "HTTP client: no outcome");
};

}  // namespace

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string_view HttpReply::header(std::string_view name) const {
  const auto at = std::find_if(headers.begin(), headers.end(),
                               [&](const HttpHeader& header) { return same_name(header.name, name); });
  return at == headers.end() ? std::string_view() : std::string_view(at->value);
}

base::Result<HttpReply> HttpClient::call(const HttpCall& first, const ReplySink& sink,
                                         std::stop_token stop) const {
  HttpCall call = first;
  for (int num_redirects = 0;; num_redirects++) {
    TRY(auto origin, Origin::find(call.url, options_, stop));
    TRY(HttpReply reply, Exchange(std::move(origin), call, sink).run(stop));
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
