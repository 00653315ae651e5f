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
#include "wire/embed_client.h"

namespace kvasir::engine {

struct EmbedOptions {
  int dimensions = 0;
  std::size_t max_batch_tokens = 1024;
  std::size_t max_waiting = 512;  // requests; one more is refused
};

// A thread that makes vectors. Requests share its batches: each gives some of its sequences in turn, so that
// a large one does not keep a small one waiting for its end. Thread-safe.
class EmbedWorker final : public wire::EmbedClient {
 public:
  // One vector for each sequence; a vector depends on its own sequence alone. Called by the thread only.
  using Encode = std::function<base::Result<std::vector<float>>(std::span<const std::vector<TokenId>>)>;

  EmbedWorker(EmbedOptions options, Encode encode);
  ~EmbedWorker() override;

  base::Status embed(wire::EmbedRequest request, Done done) override;
  int dimensions() const override { return options_.dimensions; }
  wire::WorkerReport report() const override;

  // Ends what waits with an error, after the batch that runs. No `done` is called after it has returned.
  void stop();

 private:
  // A request on its way; touched by the thread once it has been queued.
  struct Job {
    wire::EmbedRequest request;
    Done done;
    std::size_t num_taken = 0;   // sequences that are in a batch or done
    std::vector<float> vectors;  // of those that are done
  };
  using Jobs = std::vector<std::shared_ptr<Job>>;
  // Sequences of one job in a batch.
  struct Share {
    std::shared_ptr<Job> job;
    std::size_t count;
  };

  void loop();
  // Waits for requests; none once it is to stop.
  Jobs await_jobs();
  void run_batch(const Jobs& jobs);
  std::vector<Share> take_shares(const Jobs& jobs, std::vector<std::vector<TokenId>>& batch) const;
  void end(const std::shared_ptr<Job>& job, base::Result<std::vector<float>> result);

  const EmbedOptions options_;
  const Encode encode_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;  // guarded by mutex_; those that have not ended
  bool stopping_ = false;                  // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvasir::engine
