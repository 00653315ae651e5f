#pragma once

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "remote/remote_worker.h"
#include "remote/worker_server.h"

// For tests: a worker whose streams the test feeds, served over loopback, and readers on their own thread.
namespace kvasir::remote {

inline constexpr int kVocabSize = 1000;
using namespace std::chrono_literals;

inline wire::TokenEvent tokens_event(std::vector<TokenId> ids) {
  wire::TokenEvent event;
  for (const TokenId id : ids) event.tokens.push_back({.id = id});
  return event;
}

inline wire::GenerateRequest request_of(std::vector<TokenId> prompt, int max_tokens = 100) {
  wire::GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  return request;
}

// Records requests and holds their streams. Thread-safe.
class FedWorker final : public seam::WorkerClient {
 public:
  struct Asked {
    wire::GenerateRequest request;
    std::shared_ptr<seam::TokenStream> stream;
  };

  base::Result<seam::TokenReader> generate(wire::GenerateRequest request,
                                           boost::asio::any_io_executor reader) override {
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    auto stream = std::make_shared<seam::TokenStream>(std::move(reader));
    asked_.push_back({std::move(request), stream});
    changed_.notify_all();
    return seam::TokenReader(std::move(stream));
  }
  wire::Forecast forecast(const wire::Outline&) const override { return {}; }
  kv::BlockForm block_form() const override { return form; }
  int num_cached_blocks(const kv::BlockChain&) const override { return num_cached; }
  seam::Prospect prospect() const override {
    const std::lock_guard lock(mutex_);
    return prospect_;
  }
  wire::WorkerReport report() const override {
    const std::lock_guard lock(mutex_);
    return report_;
  }
  wire::Activity activity(std::uint64_t after_step) override {
    wire::Activity activity{.now_s = 5};
    for (std::uint64_t number = after_step + 1; number <= 3; ++number)
      activity.steps.push_back({.number = number});
    return activity;
  }
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override {
    const std::lock_guard lock(mutex_);
    sink_ = std::move(sink);
    if (sink_) sink_->on_blocks({.number = ++last_blocks_, .anew = true, .added = blocks_});
  }

  void publish(kv::BlockHash hash) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(hash);
    if (sink_) sink_->on_blocks({.number = ++last_blocks_, .added = {hash}});
  }
  void refuse_with(std::optional<base::Error> error) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(error);
  }
  void set(wire::WorkerReport report, seam::Prospect prospect = {}) {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
    prospect_ = std::move(prospect);
  }
  // Waits until request `number` (from 0) has come.
  Asked wait_for(std::size_t number) {
    std::unique_lock lock(mutex_);
    CHECK(changed_.wait_for(lock, 30s, [&] { return asked_.size() > number; }), "no request {}", number);
    return asked_[number];
  }
  std::size_t num_asked() const {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }

  kv::BlockForm form;  // set before it is served
  int num_cached = 0;  // set before it is served

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;               // guarded by mutex_
  std::optional<base::Error> refusal_;     // guarded by mutex_
  wire::WorkerReport report_;              // guarded by mutex_
  seam::Prospect prospect_;                // guarded by mutex_
  std::shared_ptr<seam::BlockSink> sink_;  // guarded by mutex_
  std::vector<kv::BlockHash> blocks_;      // guarded by mutex_
  std::uint64_t last_blocks_ = 0;          // guarded by mutex_
};

// An io_context with its thread.
class Readers {
 public:
  ~Readers() {
    work_.reset();
    io_.stop();
    thread_.join();
  }
  boost::asio::any_io_executor executor() { return io_.get_executor(); }
  // Runs `what` on the thread, and waits for its result.
  template <class Do>
  auto run(Do what) {
    std::packaged_task<decltype(what())()> task(std::move(what));
    auto result = task.get_future();
    boost::asio::post(io_, [&task] { task(); });
    return result.get();
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_{[this] { io_.run(); }};
};

// Polls until the condition is true. False: it took longer than `at_most`.
inline bool becomes_true(const std::function<bool()>& condition, std::chrono::nanoseconds at_most = 30s) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// The events that one reader has received.
class Received {
 public:
  Received(Readers& readers, seam::TokenReader reader) : readers_(readers), reader_(std::move(reader)) {}
  ~Received() { leave(); }
  Received(Received&&) = default;

  void leave() {
    if (reader_)
      readers_.run([this] {
        reader_.reset();
        return 0;
      });
  }
  // Takes the next event, if there is one.
  void take() {
    readers_.run([this] {
      if (std::optional<wire::TokenEvent> event = (*reader_)->take()) events.push_back(std::move(*event));
      return 0;
    });
  }
  int backlog() const { return (*reader_)->backlog(); }
  std::vector<TokenId> ids() const {
    std::vector<TokenId> all;
    for (const wire::TokenEvent& event : events)
      for (const wire::Token& token : event.tokens) all.push_back(token.id);
    return all;
  }
  bool ended() const { return !events.empty() && events.back().last(); }
  bool wait_end() {
    return becomes_true([this] {
      take();
      return ended();
    });
  }
  base::Error error() const {
    return events.empty() ? base::Error{} : events.back().error.value_or(base::Error{});
  }

  std::vector<wire::TokenEvent> events;

 private:
  Readers& readers_;
  std::optional<seam::TokenReader> reader_;
};

class RemoteTest : public testing::Test {
 protected:
  static WorkerServer::Served served_by(std::shared_ptr<seam::WorkerClient> worker,
                                        std::string fingerprint = "fp_a") {
    WorkerServer::Served served{.worker = std::move(worker),
                                .card = {.id = "w",
                                         .model = "m",
                                         .fingerprint = std::move(fingerprint),
                                         .build = "1",
                                         .context_length = 4096,
                                         .num_blocks = 64},
                                .max_queue = 64};
    served.text.vocab_size = kVocabSize;
    served.text.files = {{"tokenizer.json", "{}"}, {"config.json", std::string(3'000'000, 'x')}};
    return served;
  }
  std::unique_ptr<WorkerServer> serve(WorkerServer::Served served, int port = 0) {
    auto server = WorkerServer::start(
        {.listen = "127.0.0.1:" + std::to_string(port), .report_every = 5ms, .idle_report_every = 20ms},
        std::move(served));
    CHECK(server.ok(), "{}", server.error().message);
    return std::move(*server);
  }
  std::shared_ptr<RemoteWorker> connect(int port, int window_tokens = 64) {
    auto worker = RemoteWorker::create({.id = "w",
                                        .address = "127.0.0.1:" + std::to_string(port),
                                        .gateway = "g",
                                        .window_tokens = window_tokens,
                                        .last_retry = 100ms},
                                       timers_.executor());
    CHECK(worker.ok(), "{}", worker.error().message);
    return std::move(*worker);
  }
  static bool is(const RemoteWorker& worker, RemoteWorker::Link link) {
    return becomes_true([&] { return worker.standing().link == link; });
  }
  Received ask(RemoteWorker& worker, wire::GenerateRequest request) {
    auto reader = worker.generate(std::move(request), readers_.executor());
    CHECK(reader.ok(), "{}", reader.error().message);
    return {readers_, std::move(*reader)};
  }

  Readers timers_;
  Readers readers_;
  std::shared_ptr<FedWorker> fed_ = std::make_shared<FedWorker>();
};

}  // namespace kvasir::remote
