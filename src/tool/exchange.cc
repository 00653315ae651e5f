#include "tool/exchange.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "net/client_connection.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using FoundOrigin = Result<std::shared_ptr<const net::Origin>>;

namespace {

constexpr std::chrono::seconds kConnectTimeout{10};
// The line ends an exchange long before.
constexpr std::chrono::hours kReadTimeout{2};

asio::awaitable<void> find_origin(net::Url url, std::stop_token stop, std::optional<FoundOrigin>& found) {
  net::HttpClientOptions options;
  options.connect_timeout = kConnectTimeout;
  options.read_timeout = kReadTimeout;
  found = net::Origin::find(url, options, stop);
  co_return;
}

}  // namespace

asio::awaitable<Result<net::HttpReply>> exchange(Surroundings surroundings, const net::HttpCall& call,
                                                 const net::ReplySink& sink, Lifeline& line) {
  std::stop_source stop;
  std::optional<FoundOrigin> origin;
  line.on_end([&stop] { stop.request_stop(); });
  co_await asio::co_spawn(surroundings.lookups, find_origin(call.url, stop.get_token(), origin),
                          asio::use_awaitable);
  line.on_end({});
  if (line.over()) co_return line.error();
  if (!origin->ok()) co_return std::move(*origin).error();
  net::ClientConnection connection(surroundings.executor, std::move(**origin));
  line.on_end([&connection] { connection.abort(); });
  Result<net::HttpReply> reply = co_await connection.exchange(call, sink);
  line.on_end({});
  if (line.over()) co_return line.error();
  if (reply.ok() && net::is_redirect(reply->status))
    co_return base::error(ErrorCode::unsupported, "it redirects (status {}), which is not followed",
                          reply->status);
  co_return reply;
}

}  // namespace kvasir::tool
