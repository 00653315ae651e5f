#include "net/resolve.h"

#include <netdb.h>

#include <boost/asio/ip/address.hpp>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace kvasir::net {

using base::ErrorCode;
using boost::asio::ip::tcp;
using Endpoints = std::vector<tcp::endpoint>;

namespace {

// Shared by the caller and the lookup thread. The last one to end frees it.
struct Lookup {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool done = false;    // guarded by mutex
  Endpoints endpoints;  // guarded by mutex
  std::string failure;  // guarded by mutex
};

void look_up(const std::shared_ptr<Lookup>& lookup, const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  const std::lock_guard lock(lookup->mutex);
  if (code != 0) lookup->failure = ::gai_strerror(code);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    tcp::endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), at->ai_addr, at->ai_addrlen);
    endpoint.resize(at->ai_addrlen);
    lookup->endpoints.push_back(endpoint);
  }
  if (found != nullptr) ::freeaddrinfo(found);
  lookup->done = true;
  lookup->changed.notify_all();
}

}  // namespace

base::Result<Endpoints> resolve(const std::string& host, const std::string& port,
                                std::chrono::milliseconds timeout, std::stop_token stop) {
  boost::system::error_code code;
  if (const auto address = boost::asio::ip::make_address(host, code); !code)
    return Endpoints{tcp::endpoint(address, static_cast<std::uint16_t>(std::stoi(port)))};
  auto lookup = std::make_shared<Lookup>();
  try {
    std::thread(look_up, lookup, host, port).detach();
  } catch (const std::system_error& e) {
    return base::error(ErrorCode::unavailable, "cannot look up {}: {}", host, e.what());
  }
  std::unique_lock lock(lookup->mutex);
  const bool done = lookup->changed.wait_for(lock, stop, timeout, [&] { return lookup->done; });
  if (!done && stop.stop_requested()) return base::error(ErrorCode::cancelled, "cancelled");
  if (!done)
    return base::error(ErrorCode::unavailable, "cannot look up {}: no answer in {} ms", host,
                       timeout.count());
  if (lookup->endpoints.empty())
    return base::error(ErrorCode::unavailable, "cannot look up {}: {}", host, lookup->failure);
  return lookup->endpoints;
}

}  // namespace kvasir::net
