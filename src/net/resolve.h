#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::net {

// The addresses of a host, in the system's order, within `timeout`. The system's lookup cannot be
// interrupted, so it runs in a thread of its own that is abandoned after the timeout.
base::Result<std::vector<boost::asio::ip::tcp::endpoint>> resolve(const std::string& host,
                                                                  const std::string& port,
                                                                  std::chrono::milliseconds timeout,
                                                                  std::stop_token stop);

}  // namespace kvasir::net
