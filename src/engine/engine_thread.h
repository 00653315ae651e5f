#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/block_reporter.h"
#include "engine/engine.h"
#include "engine/step_log.h"
#include "seam/worker_client.h"

namespace kvasir::engine {

// The thread of one model replica. It owns the runner, the scheduler and every block. Other threads give it
// requests through an inbox and read snapshots. It sleeps while there is nothing to do. Thread-safe. The
// clock and the io_contexts of its readers outlive it.
class EngineThread {
 public:
  // Called on the engine's thread with the device's error, after every sequence has ended.
  using OnFailure = std::function<void(const base::Error&)>;

  EngineThread(const EngineOptions& options, std::unique_ptr<Runner> runner, const base::Clock& clock,
               OnFailure on_failure = {});
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Returns at once; see seam::WorkerClient::generate. After a failure every request is refused.
  base::Result<seam::TokenReader> submit(wire::GenerateRequest request, boost::asio::any_io_executor reader);
  // Refuses new requests and finishes the present ones.
  void drain();
  // Ends running sequences with an `unavailable` error after the current step, and joins the thread. Nothing
  // is sent to any reader after it returns. The destructor does the same.
  void stop();
  bool idle() const;

  wire::WorkerReport report() const;
  // See seam::WorkerClient.
  kv::BlockForm block_form() const { return runner_->block_form(); }
  int num_cached_blocks(const kv::BlockChain& chain) const { return published_->num_published(chain); }
  // See seam::WorkerClient.
  wire::Forecast forecast(const wire::Outline& outline) const;
  seam::Prospect prospect() const;
  EngineStats stats() const;
  // See seam::WorkerClient.
  wire::Activity activity(std::uint64_t after_step);
  // See seam::WorkerClient. The sink is called on the engine's thread, between steps.
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink);

 private:
  enum class Wake { step, stop };

  base::Status check(const wire::GenerateRequest& request) const;
  void loop();
  // Waits until there is work, then takes the inbox.
  Wake await_work(Engine& engine);
  void take_outlook(const Engine& engine, const std::unique_lock<std::mutex>& lock);
  void take_snapshot(const Engine& engine, const std::unique_lock<std::mutex>& lock);
  void take_live(const sched::Scheduler& scheduler, const std::unique_lock<std::mutex>& lock);

  const EngineOptions options_;
  const std::unique_ptr<Runner> runner_;
  const base::Clock& clock_;
  const OnFailure on_failure_;

  const std::shared_ptr<kv::PublishedBlocks> published_ = std::make_shared<kv::PublishedBlocks>();
  BlockReporter reporter_{published_};
  StepLog log_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Engine::Arrival> inbox_;  // guarded by mutex_
  wire::WorkerReport report_;           // guarded by mutex_; as of the last step, without the inbox
  EngineStats stats_;                   // guarded by mutex_; as of the last step
  std::shared_ptr<const sched::Outlook> outlook_;  // guarded by mutex_; null before the first step
  base::TimePoint outlook_at_;                     // guarded by mutex_; when it was made
  std::vector<sched::WaitingLine> arrived_;        // guarded by mutex_; of the requests in the inbox
  std::vector<wire::LiveSequence> live_;           // guarded by mutex_; while watched, as of live_at_
  base::TimePoint live_at_;                        // guarded by mutex_
  base::TimePoint last_progress_;                  // guarded by mutex_
  bool last_step_was_empty_ = true;                // guarded by mutex_
  bool draining_ = false;                          // guarded by mutex_
  bool stopping_ = false;                          // guarded by mutex_

  std::thread thread_;
};

}  // namespace kvasir::engine
