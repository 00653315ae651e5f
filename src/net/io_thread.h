#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <thread>
#include <unordered_set>

#include "base/result.h"
#include "net/http_connection.h"
#include "net/server_state.h"

namespace kvasir::net {

// One I/O thread: its io_context, its listener and the connections that it accepted. The server owns it and
// calls the public functions; everything else happens on the thread.
class IoThread {
 public:
  using tcp = boost::asio::ip::tcp;
  enum class SharePort { no, yes };

  explicit IoThread(std::shared_ptr<ServerState> state);
  ~IoThread();

  // Returns the endpoint that it listens on.
  base::Result<tcp::endpoint> listen(const tcp::endpoint& endpoint, SharePort share);
  void start();
  void stop_accepting();
  void cut_all();
  void join();

 private:
  class Membership;
  boost::asio::awaitable<void> accept_loop();
  void adopt(tcp::socket socket);
  void turn_away(tcp::socket socket);

  std::shared_ptr<ServerState> state_;
  // Touched on the thread. Declared before the io_context, whose destructor destroys the last connections.
  std::unordered_set<HttpConnection*> connections_;
  std::unordered_set<HttpConnection*> turned_away_;  // beyond max_connections, waiting for their 503
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace kvasir::net
