#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "remote/compile_thread.h"
#include "remote/kv_fetcher.h"
#include "remote/worker_server.h"

namespace kvasir::remote {

class GatewayLink;

// Refusal of new requests by a worker that is told to leave.
base::Error leaving();

// The gateways that are connected to a worker, and what their links share: the thread on which they live,
// the time of their reports, the news of cached blocks. Only this folder includes this header.
class GatewayLinks {
 public:
  GatewayLinks(WorkerServer::Options options, WorkerServer::Served served);
  // Every link has ended before.
  ~GatewayLinks();
  GatewayLinks(const GatewayLinks&) = delete;

  // Reports begin. Links may come before.
  void start();
  void drain() { draining_ = true; }
  // Tells every gateway why its streams end, and waits a second for the links to end.
  void close();
  // Waits until no gateway and no other worker is connected.
  void wait_none();
  bool wait_idle(base::Duration timeout) const;
  WorkerServer::Stats stats() const;

  const WorkerServer::Options& options() const { return options_; }
  const WorkerServer::Served& served() const { return served_; }
  KvTraffic& traffic() const { return *served_.traffic; }
  bool draining() const { return draining_; }

  // The request with the blocks that come for it from elsewhere, if they do.
  wire::GenerateRequest with_arrivals(wire::GenerateRequest request);

  // For a link. `opened`, `closed` and `count_streams` on any thread, the rest on the links' own.
  boost::asio::io_context& io() { return io_; }
  CompileThread& compiling() { return compiling_; }
  void opened();
  void closed();
  // Likewise for another worker's call.
  void call_began() { ++num_calls_; }
  void call_ended();
  std::uint64_t add(GatewayLink& link);
  void remove(std::uint64_t number) { links_.erase(number); }
  GatewayLink* find(std::uint64_t number) const;  // null: it has ended
  void watch_blocks();
  void count_streams(int by);
  void count_message(int num_events);
  // Something has changed after a quiet time, so that the next report should not be late.
  void hurry();

 private:
  class Blocks;

  void tick();
  void tick_after(base::Duration wait);

  const WorkerServer::Options options_;
  const WorkerServer::Served served_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  boost::asio::steady_timer timer_{io_};
  bool is_quiet_ = true;  // touched by the thread; the timer waits for the idle interval
  std::map<std::uint64_t, GatewayLink*> links_;  // touched by the thread; each deletes itself
  std::uint64_t last_link_ = 0;                  // touched by the thread
  std::optional<KvFetcher> fetcher_;             // none: the worker's KV does not travel
  const std::shared_ptr<Blocks> blocks_;
  std::atomic<bool> draining_{false};
  std::atomic<int> num_gateways_{0};
  std::atomic<int> num_calls_{0};  // of other workers
  std::atomic<int> num_streams_{0};
  std::atomic<std::uint64_t> num_events_{0};
  std::atomic<std::uint64_t> num_messages_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable fewer_;  // streams or links
  CompileThread compiling_;
  std::thread thread_;
};

}  // namespace kvasir::remote
