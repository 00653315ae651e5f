#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_client.h"
#include "tool/tool.h"

namespace kvasir::tool {

// One HTTP exchange on a connection of its own, ended by `line`. Follows no redirect: where the settings say
// a tool is, is where it is. `call` and `sink` outlive it.
boost::asio::awaitable<base::Result<net::HttpReply>> exchange(Surroundings surroundings,
                                                              const net::HttpCall& call,
                                                              const net::ReplySink& sink, Lifeline& line);

}  // namespace kvasir::tool
