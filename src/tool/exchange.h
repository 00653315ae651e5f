#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_client.h"
#include "tool/tool.h"

namespace kvasir::tool {

// Adds the headers that tell the other side of the trace, if there is one.
void add_trace(const obs::TraceHeaders& trace, net::HttpCall& call);

// One HTTP exchange on a connection of its own, which ends at the latest with `line`. Redirects are not
// followed: a tool is only where the settings say. `call` and `sink` outlive the exchange.
boost::asio::awaitable<base::Result<net::HttpReply>> exchange(Surroundings surroundings,
                                                              const net::HttpCall& call,
                                                              const net::ReplySink& sink, Lifeline& line);

}  // namespace kvasir::tool
