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

// The workers that one request has, one after the other. The request's sequences share it, so that sequences
// that lose a worker together go on together. Touched only on the executor that reads the sequences. The
// router outlives it.
class Itinerary {
 public:
  // A request moves no more after this many of its workers died: it may be what kills them.
  static constexpr int kMaxLost = 3;

  using Stay = std::shared_ptr<const WorkerLease>;

  // `num_tokens` and `affinity`: see Demand.
  Itinerary(Router& router, ChatTextPtr text, WorkerLease lease, std::int64_t num_tokens,
            std::uint64_t affinity = 0);

  // The worker on which sequences begin.
  const Stay& stay() const { return stay_; }
  // True for the worker in this process: it is lost only if the process is, so nothing can move from it.
  static bool is_last(const Stay& stay) { return stay->member() == kLocalMember; }

  // The request's answers are never offered to the listener for checks.
  void keep_private() { is_private_ = true; }

  // A sequence ended well. `request` holds the answer as its output; null unless one worker gave all of it.
  void note_well(const Stay& stay, const wire::GenerateRequest* request, wire::FinishReason finish);
  // A worker broke off a sequence of the request.
  void note_lost(const Stay& stay, const base::Error& why);
  // A worker refused a sequence.
  void note_refused(const Stay& stay, const base::Error& why);
  // Picks the worker on which a sequence that lost its worker goes on. `request` has its output so far.
  // unavailable: there is no other worker now, or the request may not move any more (reason `worker_lost`).
  base::Result<Stay> leave(const Stay& lost, const wire::GenerateRequest& request);
  // The worker that `leave` picked did not take the sequence.
  void give_back_retry() { router_.give_back_retry(text_->name); }
  // Allows lost members again, since they may have come back.
  void forgive() { avoided_.clear(); }
  void count(FailoverOutcome outcome) { router_.count(text_->name, outcome); }

 private:
  Router& router_;
  const ChatTextPtr text_;
  const std::int64_t num_tokens_;
  const std::uint64_t affinity_;
  Stay stay_;
  Stay noted_;                        // the last worker that was lost
  std::vector<std::string> avoided_;  // members
  int num_lost_ = 0;                  // workers that died; those that drained do not count
  bool is_private_ = false;
};

}  // namespace kvasir::router
