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

// The error by which a draining worker refuses new requests.
base::Error leaving();

// The gateways that are connected to a worker, and what their links share: their thread, the timer of their
// reports and the changes of cached blocks. Only this folder includes this header.
class GatewayLinks {
 public:
  GatewayLinks(WorkerServer::Options options, WorkerServer::Served served);
  // Every link must have ended.
  ~GatewayLinks();
  GatewayLinks(const GatewayLinks&) = delete;

  // Begins to send reports. Links may be opened before.
  void start();
  void drain() { draining_ = true; }
  // Sends every gateway the reason why its streams end, and waits at most a second for the links to end.
  void close();
  // Waits until no gateway and no other worker is connected.
  void wait_none();
  bool wait_idle(base::Duration timeout) const;
  WorkerServer::Stats stats() const;

  const WorkerServer::Options& options() const { return options_; }
  const WorkerServer::Served& served() const { return served_; }
  KvTraffic& traffic() const { return *served_.traffic; }
  bool draining() const { return draining_; }

  // Returns the request with the blocks that another worker computes for it, if any.
  wire::GenerateRequest with_arrivals(wire::GenerateRequest request);

  // Called by links. `opened`, `closed` and `count_streams` may be called on any thread, the others only on
  // the links' thread.
  boost::asio::io_context& io() { return io_; }
  CompileThread& compiling() { return compiling_; }
  void opened();
  void closed();
  // As above, for a call of another worker.
  void call_began() { ++num_calls_; }
  void call_ended();
  std::uint64_t add(GatewayLink& link);
  void remove(std::uint64_t number) { links_.erase(number); }
  GatewayLink* find(std::uint64_t number) const;  // null: the link has ended
  void watch_blocks();
  void count_streams(int by);
  void count_message(int num_events);
  // Call it on a change after a quiet time, so that the next report comes soon.
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
  bool is_quiet_ = true;  // touched by the thread; true: the timer waits for the idle interval
  std::map<std::uint64_t, GatewayLink*> links_;  // touched by the thread; each deletes itself
  std::uint64_t last_link_ = 0;                  // touched by the thread
  std::optional<KvFetcher> fetcher_;             // none: the worker's KV does not travel
  const std::shared_ptr<Blocks> blocks_;
  std::atomic<bool> draining_{false};
  std::atomic<int> num_gateways_{0};
  std::atomic<int> num_calls_{0};  // calls of other workers
  std::atomic<int> num_streams_{0};
  std::atomic<std::uint64_t> num_events_{0};
  std::atomic<std::uint64_t> num_messages_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable fewer_;  // there are fewer streams, links or calls
  CompileThread compiling_;
  std::thread thread_;
};

}  // namespace kvasir::remote
