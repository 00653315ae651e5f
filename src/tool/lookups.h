#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "base/result.h"
#include "net/client_connection.h"
#include "net/url.h"
#include "tool/lifeline.h"

namespace kvasir::tool {

// Looks up the hosts of tools. A lookup blocks, so it has a thread of its own. A host has at most one: later
// callers wait for the same lookup. So a slow name delays only those who ask for it, and there are never more
// threads than hosts in the settings. Used on its owner's executor only, which no longer runs when this
// object is destroyed.
class Lookups {
 public:
  using Found = base::Result<std::shared_ptr<const net::Origin>>;
  // Looks a host up and blocks meanwhile. Runs on any thread, and returns soon after a stop is requested.
  using Find = std::function<Found(const net::Url& url, const std::stop_token& stop)>;

  Lookups(boost::asio::any_io_executor executor, Find find);
  Lookups(const Lookups&) = delete;
  Lookups& operator=(const Lookups&) = delete;

  // The wait ends when `line` does, if not earlier.
  boost::asio::awaitable<Found> find(net::Url url, Lifeline& line);

  // Ends all threads. Call it after the executor's last handler.
  void stop() { running_.clear(); }

 private:
  struct Lookup {
    std::optional<Found> found;
    std::set<boost::asio::steady_timer*> waiting;
  };
  struct Running {
    std::shared_ptr<Lookup> lookup;
    std::jthread thread;
  };
  std::shared_ptr<Lookup> join_or_begin(const net::Url& url);
  void finish(const std::string& host, Found found);

  const boost::asio::any_io_executor executor_;
  const Find find_;
  std::map<std::string, Running> running_;  // by host
};

}  // namespace kvasir::tool
