#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>

#include "remote/remote_worker.h"
#include "seam/embed_client.h"

namespace kvasir::remote {

// A gateway's requests for vectors at one worker, one gRPC call for each. Thread-safe. Only this folder
// includes this header.
class EmbedCalls {
 public:
  explicit EmbedCalls(std::shared_ptr<WorkerConnection> connection) : connection_(std::move(connection)) {}
  ~EmbedCalls() { stop(); }
  EmbedCalls(const EmbedCalls&) = delete;
  EmbedCalls& operator=(const EmbedCalls&) = delete;

  base::Status start(wire::EmbedRequest request, seam::EmbedClient::Done done);
  int num_running() const;
  // Ends the running requests with an error, and waits until each was reported. Refuses later requests.
  void stop();

 private:
  struct Call;
  void finish(Call& call);

  const std::shared_ptr<WorkerConnection> connection_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool stopping_ = false;                         // guarded by mutex_
  std::map<Call*, std::shared_ptr<Call>> calls_;  // guarded by mutex_
};

}  // namespace kvasir::remote
