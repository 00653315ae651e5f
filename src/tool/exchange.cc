#include "tool/exchange.h"

#include <utility>

#include "net/client_connection.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;

void add_trace(const obs::TraceHeaders& trace, net::HttpCall& call) {
  if (!trace.traceparent.empty()) call.headers.emplace_back("traceparent", trace.traceparent);
  if (!trace.tracestate.empty()) call.headers.emplace_back("tracestate", trace.tracestate);
}

asio::awaitable<Result<net::HttpReply>> exchange(Surroundings surroundings, const net::HttpCall& call,
                                                 const net::ReplySink& sink, Lifeline& line) {
  Lookups::Found origin = co_await surroundings.lookups.find(call.url, line);
  if (!origin.ok()) co_return std::move(origin).error();
  net::ClientConnection connection(surroundings.executor, std::move(*origin));
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
