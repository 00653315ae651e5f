#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_client.h"
#include "tool/tool.h"

namespace kvasir::tool {

// Adds the headers of the trace, if there is one, so that the other side can continue it.
void add_trace(const obs::TraceHeaders& trace, net::HttpCall& call);

// Makes one HTTP exchange on a connection of its own. It ends when `line` does, if not earlier. Redirects are
// not followed, because a tool must be where the settings say. `call` and `sink` outlive the exchange.
boost::asio::awaitable<base::Result<net::HttpReply>> exchange(Surroundings surroundings,
                                                              const net::HttpCall& call,
                                                              const net::ReplySink& sink, Lifeline& line);

}  // namespace kvasir::tool
