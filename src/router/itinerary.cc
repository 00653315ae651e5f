#include "router/itinerary.h"

#include <algorithm>
#include <utility>

#include "wire/worker_lost.h"

namespace kvasir::router {

namespace {

base::Error may_not_move(const char* why) {
  return {.code = base::ErrorCode::unavailable,
          .message = fmt::format("the worker of this request was lost, and {}; try again", why),
          .reason = std::string(wire::kWorkerLost),
          .retry_after_s = 5};
}

}  // namespace

Itinerary::Itinerary(Router& router, ChatTextPtr text, WorkerLease lease, std::int64_t num_tokens,
                     std::uint64_t affinity)
    : router_(router),
      text_(std::move(text)),
      num_tokens_(num_tokens),
      affinity_(affinity),
      stay_(std::make_shared<const WorkerLease>(std::move(lease))) {}

void Itinerary::note_well(const Stay& stay, const wire::GenerateRequest* request, wire::FinishReason finish) {
  if (is_last(stay)) return;
  router_.note(text_->name, stay->member(), Ejections::Outcome::ended_well);
  if (request == nullptr || is_private_ || request->resumed.empty() || !router_.wants_answer()) return;
  router_.offer_answer({text_->name, text_->version, stay->member(), *request, finish});
}

void Itinerary::note_lost(const Stay& stay, const base::Error& why) {
  if (noted_ == stay) return;  // another sequence has noted it
  noted_ = stay;
  avoided_.push_back(stay->member());
  if (why.reason == wire::kDraining) return;
  ++num_lost_;
  router_.note(text_->name, stay->member(), Ejections::Outcome::lost);
}

void Itinerary::note_refused(const Stay& stay, const base::Error& why) {
  avoided_.push_back(stay->member());
  if (wire::is_worker_lost(why) && why.reason != wire::kDraining)
    router_.note(text_->name, stay->member(), Ejections::Outcome::lost);
}

base::Result<Itinerary::Stay> Itinerary::leave(const Stay& lost, const wire::GenerateRequest& request) {
  if (num_lost_ >= kMaxLost) {
    count(FailoverOutcome::too_often);
    return may_not_move("so were others that tried to go on with it");
  }
  if (stay_ == lost) {
    kv::BlockChain blocks(
        {.cache_namespace = request.origin.cache_namespace, .num_public_tokens = request.num_public_tokens});
    std::vector<TokenId> tokens = request.prompt;
    tokens.insert(tokens.end(), request.resumed.begin(), request.resumed.end());
    blocks.extend(tokens);
    TRY(WorkerLease lease,
        router_.pick(
            *text_, {.prompt = blocks, .num_tokens = num_tokens_, .avoid = avoided_, .affinity = affinity_}));
    stay_ = std::make_shared<const WorkerLease>(std::move(lease));
  }
  if (router_.take_retry(text_->name)) return stay_;
  count(FailoverOutcome::over_budget);
  return may_not_move("too many others were lost with it");
}

}  // namespace kvasir::router
