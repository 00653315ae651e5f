#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "router/router.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::router {

// The workers of one request, one after the other. Its sequences share it, so that those which lose a worker
// together go on together. Touched on the executor that reads them. The router outlives it.
class Itinerary {
 public:
  // After so many workers that died with the request, it may be the reason.
  static constexpr int kMaxLost = 3;

  using Stay = std::shared_ptr<const WorkerLease>;

  // `num_tokens` and `affinity`: see Demand.
  Itinerary(Router& router, ChatTextPtr text, WorkerLease lease, std::int64_t num_tokens,
            std::uint64_t affinity = 0);

  // Where sequences begin.
  const Stay& stay() const { return stay_; }
  // A worker in this process is lost only if the process is.
  static bool is_last(const Stay& stay) { return stay->member() == kLocalMember; }

  // Nobody may see the request's answers.
  void keep_private() { is_private_ = true; }

  // `request` has the answer as its output, if one worker has given all of it.
  void note_well(const Stay& stay, const wire::GenerateRequest* request, wire::FinishReason finish);
  // A worker that had a sequence of the request ended it.
  void note_lost(const Stay& stay, const base::Error& why);
  // A worker did not take a sequence.
  void note_refused(const Stay& stay, const base::Error& why);
  // Where a sequence goes on that has lost its worker. `request` has its output so far. unavailable: there is
  // no other worker now, or it may not move any more (reason `worker_lost`).
  base::Result<Stay> leave(const Stay& lost, const wire::GenerateRequest& request);
  // The sequence could not go on where `leave` had sent it.
  void give_back_retry() { router_.give_back_retry(text_->name); }
  // Members that were lost may have come back.
  void forgive() { avoided_.clear(); }
  void count(FailoverOutcome outcome) { router_.count(text_->name, outcome); }

 private:
  Router& router_;
  const ChatTextPtr text_;
  const std::int64_t num_tokens_;
  const std::uint64_t affinity_;
  Stay stay_;
  Stay noted_;                        // the last one that was lost
  std::vector<std::string> avoided_;  // members
  int num_lost_ = 0;                  // workers that died, and did not leave
  bool is_private_ = false;
};

}  // namespace kvasir::router
