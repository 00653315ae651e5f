#include "audit/comparison.h"

#include <algorithm>

namespace kvasir::audit {

namespace {

// The answer's token is looked for among this many likeliest ones.
constexpr int kNumTop = 5;
// Lower than the priority of every request, even of batches.
constexpr int kPriority = -1'000'000;

// Whether the likeliest token is the right one. Logprobs come from the model alone, so they decide only if no
// other setting changes the choice.
bool takes_the_likeliest(const wire::GenerateRequest& request) {
  const wire::SamplingParams& sampling = request.sampling;
  return sampling.temperature == 0 && sampling.presence_penalty == 0 && sampling.frequency_penalty == 0 &&
         sampling.repetition_penalty == 1 && sampling.logit_bias.empty() && !request.grammar &&
         request.min_tokens == 0;
}

}  // namespace

wire::GenerateRequest request_after(const router::GivenAnswer& answer, std::size_t num_known, int num_more) {
  wire::GenerateRequest request = answer.request;
  request.origin.request_id = "check-" + request.origin.request_id;
  request.origin.tenant = "kvasir-check";
  request.origin.weight = 1;
  request.priority = kPriority;
  request.slo_ttft_s = request.slo_tpot_s = 0;
  request.resumed.resize(num_known);
  request.max_tokens = std::min(request.max_tokens, static_cast<int>(num_known) + num_more);
  request.min_tokens = std::min(request.min_tokens, request.max_tokens);
  request.sampling.logprobs = true;
  request.sampling.num_top_logprobs = kNumTop;
  return request;
}

Comparison::Comparison(const router::GivenAnswer& answer)
    : answer_(answer),
      is_greedy_(takes_the_likeliest(answer.request)),
      num_compared_(std::min(answer.request.resumed.size(), kMostTokens)),
      compares_end_(answer.finish == wire::FinishReason::stop &&
                    answer.request.resumed.size() <= kMostTokens) {}

wire::GenerateRequest Comparison::request() const {
  const std::size_t num_more = num_compared_ - at_ + (compares_end_ ? 1 : 0);
  return request_after(answer_, at_, static_cast<int>(num_more));
}

Comparison::Then Comparison::take(const wire::TokenEvent& event) {
  for (const wire::Token& token : event.tokens) {
    if (at_ == num_compared_) {
      if (!compares_end_) return Then::over;
      return dispute(token.id);
    }
    if (token.id == answer_.request.resumed[at_]) {
      ++at_;
      continue;
    }
    is_far_ = is_far_ || is_far(token);
    return dispute(token.id);
  }
  if (event.finish == wire::FinishReason::stop && at_ < num_compared_) return dispute(kEnd);
  return event.last() || (at_ == num_compared_ && !compares_end_) ? Then::over : Then::more;
}

Comparison::Then Comparison::dispute(TokenId other) {
  const bool at_end = at_ == num_compared_;
  disputes_.push_back({at_, at_end ? kEnd : answer_.request.resumed[at_], other});
  if (at_end || disagrees()) return Then::over;
  ++at_;
  return at_ == num_compared_ ? Then::over : Then::ask_again;
}

bool Comparison::is_far(const wire::Token& other) const {
  if (!is_greedy_ || !other.logprob || other.logprob->top.empty()) return false;
  const TokenId given = answer_.request.resumed[at_];
  const auto& top = other.logprob->top;
  const auto found = std::ranges::find(top, given, [](const auto& one) { return one.first; });
  const float logprob = found != top.end() ? found->second : top.back().second;
  return other.logprob->logprob - logprob > kNear;
}

bool Comparison::disagrees() const {
  return is_far_ || disputes_.size() > most_disputes();
}

void Vote::take(TokenId said) {
  const Dispute& dispute = disputes_[at_++];
  if (said == dispute.given) ++num_for_given_;
  if (said == dispute.other) ++num_for_other_;
}

Vote::Wrong Vote::result() const {
  if (num_for_other_ > 0 && num_for_other_ >= 3 * num_for_given_) return Wrong::given;
  if (num_for_given_ > 0 && num_for_given_ >= 3 * num_for_other_) return Wrong::other;
  return Wrong::undecided;
}

}  // namespace kvasir::audit
