#pragma once

#include <memory>
#include <utility>

#include "engine/engine_thread.h"
#include "seam/worker_client.h"

namespace kvasir::engine {

// A worker in the same process. Thread-safe.
class LocalWorker final : public seam::WorkerClient {
 public:
  LocalWorker(const EngineOptions& options, std::unique_ptr<Runner> runner, const base::Clock& clock,
              EngineThread::OnFailure on_failure = {})
      : thread_(options, std::move(runner), clock, std::move(on_failure)) {}

  base::Result<seam::TokenReader> generate(wire::GenerateRequest request,
                                           boost::asio::any_io_executor reader) override {
    return thread_.submit(std::move(request), std::move(reader));
  }
  wire::Forecast forecast(const wire::Outline& outline) const override { return thread_.forecast(outline); }
  seam::Prospect prospect() const override { return thread_.prospect(); }
  kv::BlockForm block_form() const override { return thread_.block_form(); }
  int num_cached_blocks(const kv::BlockChain& chain) const override {
    return thread_.num_cached_blocks(chain);
  }
  wire::WorkerReport report() const override { return thread_.report(); }
  wire::Activity activity(std::uint64_t after_step) override { return thread_.activity(after_step); }
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override { thread_.watch_blocks(std::move(sink)); }

  EngineStats stats() const { return thread_.stats(); }
  void drain() { thread_.drain(); }
  // Must not be called by two threads at once; see EngineThread::stop.
  void stop() { thread_.stop(); }
  bool idle() const { return thread_.idle(); }

 private:
  EngineThread thread_;
};

}  // namespace kvasir::engine
