#include "net/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "net/io_thread.h"
#include "net/server_state.h"

namespace kvasir::net {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

namespace {

// Time for handlers and connections to end by themselves before stop() ends their threads.
constexpr base::Duration kStopGrace = std::chrono::seconds(1);
// Descriptors that the rest of the process needs beside its connections.
constexpr rlim_t kOtherDescriptors = 256;

base::Result<tcp::endpoint> resolve(const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return tcp::endpoint(address, port);
  asio::io_context io;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return base::error(base::ErrorCode::invalid_argument, "cannot listen on '{}': no such address", host);
  }
  return found.begin()->endpoint();
}

// Raises the limit as far as the system allows. If it stays lower, connections are refused later; that is not
// a failure here.
void allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

HttpServer::HttpServer(ServerOptions options, Handler handler)
    : state_(std::make_shared<ServerState>(std::move(options), std::move(handler))) {}

HttpServer::~HttpServer() {
  stop();
}

base::Result<std::uint16_t> HttpServer::start() {
  CHECK(threads_.empty(), "started twice");
  const ServerOptions& options = state_->options;
  if (options.tls) {
    TRY(state_->certificates, CertificateWatch::start(*options.tls, options.tls_look_interval));
  }
  TRY(tcp::endpoint endpoint, resolve(options.host, options.port));
  allow_descriptors(static_cast<rlim_t>(options.max_connections) + kOtherDescriptors);
  const int num_threads = std::max(options.num_io_threads, 1);
  const auto share = num_threads > 1 ? IoThread::SharePort::yes : IoThread::SharePort::no;
  if (share == IoThread::SharePort::yes && endpoint.port() != 0) {
    // A shared port could also be shared with another process. Binding it first without sharing detects that.
    IoThread probe(state_);
    TRY_OK(probe.listen(endpoint, IoThread::SharePort::no));
  }
  std::vector<std::unique_ptr<IoThread>> threads;
  for (int i = 0; i < num_threads; ++i) {
    threads.push_back(std::make_unique<IoThread>(state_));
    TRY(endpoint, threads.back()->listen(endpoint, share));
  }
  threads_ = std::move(threads);
  for (const auto& thread : threads_) thread->start();
  return endpoint.port();
}

void HttpServer::stop_accepting() {
  state_->draining = true;
  for (const auto& thread : threads_) thread->stop_accepting();
}

bool HttpServer::wait_idle(base::Duration at_most) {
  return state_->wait_for_zero(state_->stats.active_requests, at_most);
}

void HttpServer::stop() {
  state_->draining = true;
  for (const auto& thread : threads_) thread->cut_all();
  (void)state_->wait_for_zero(state_->stats.open_connections, kStopGrace);
  for (const auto& thread : threads_) thread->join();
}

const ServerStats& HttpServer::stats() const {
  return state_->stats;
}

}  // namespace kvasir::net
