#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "seam/embed_client.h"

namespace kvasir::engine {

struct EmbedOptions {
  int dimensions = 0;
  std::size_t max_batch_tokens = 1024;
  std::size_t max_waiting = 512;  // requests; one more is refused
};

// A thread that computes embeddings. Requests share its batches: each contributes some of its sequences in
// turn, so that a small request need not wait until a large one ends. Thread-safe.
class EmbedWorker final : public seam::EmbedClient {
 public:
  // Returns one vector for each sequence. A vector depends on its own sequence alone. Called by the worker's
  // thread only.
  using Encode = std::function<base::Result<std::vector<float>>(std::span<const std::vector<TokenId>>)>;

  EmbedWorker(EmbedOptions options, Encode encode);
  ~EmbedWorker() override;

  base::Status embed(wire::EmbedRequest request, Done done) override;
  int dimensions() const override { return options_.dimensions; }
  wire::WorkerReport report() const override;

  // Ends waiting requests with an error after the running batch. No `done` is called after stop() returns.
  void stop();

 private:
  // A queued request. Once queued, it is touched by the worker's thread only.
  struct Job {
    wire::EmbedRequest request;
    Done done;
    std::size_t num_taken = 0;   // sequences that are in a batch or done
    std::vector<float> vectors;  // of the sequences that are done
  };
  using Jobs = std::vector<std::shared_ptr<Job>>;
  // The sequences of one job in a batch.
  struct Share {
    std::shared_ptr<Job> job;
    std::size_t count;
  };

  void loop();
  // Waits for requests. Empty if the worker is stopping.
  Jobs await_jobs();
  void run_batch(const Jobs& jobs);
  std::vector<Share> take_shares(const Jobs& jobs, std::vector<std::vector<TokenId>>& batch) const;
  void end(const std::shared_ptr<Job>& job, base::Result<std::vector<float>> result);

  const EmbedOptions options_;
  const Encode encode_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;  // guarded by mutex_; jobs that have not ended
  bool stopping_ = false;                  // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvasir::engine
