#include "upstream/pool.h"

#include <algorithm>
#include <utility>

#include "upstream/choose_member.h"

namespace kvasir::upstream {

using base::ErrorCode;
using base::Result;

Pool::Pool(std::string name, std::vector<std::shared_ptr<Member>> members)
    : name_(std::move(name)), members_(std::move(members)) {}

bool Pool::is_up() const {
  return std::ranges::any_of(members_, [](const auto& member) { return member->is_up(); });
}

int Pool::context_length() const {
  int least = 0;
  for (const auto& member : members_)
    if (const int length = member->context_length(); length > 0 && (least == 0 || length < least))
      least = length;
  return least;
}

int Pool::max_in_flight() const {
  int sum = 0;
  for (const auto& member : members_) sum += member->config().max_in_flight;
  return sum;
}

Result<Slot> Pool::choose(std::uint64_t key, std::span<const std::string> tried_labels) {
  std::vector<Candidate> candidates;
  std::vector<const std::shared_ptr<Member>*> of_candidate;
  bool any_full = false;
  for (const auto& member : members_) {
    if (std::ranges::find(tried_labels, member->label()) != tried_labels.end()) continue;
    const Member::View view = member->view();
    any_full = any_full || (view.admits && view.full);
    if (!view.admits || view.full) continue;
    candidates.push_back({member->id(), member->config().weight, static_cast<double>(view.load)});
    of_candidate.push_back(&member);
  }
  if (!candidates.empty()) return Slot(*of_candidate[choose_member(candidates, key)]);
  if (any_full)
    return base::Error{.code = ErrorCode::exhausted,
                       .message = fmt::format("all upstreams of '{}' are full; try again", name_),
                       .field = "model",
                       .reason = "server_overloaded",
                       .retry_after_s = 1};
  return base::Error{.code = ErrorCode::unavailable,
                     .message = fmt::format("no upstream of '{}' can be used now; try again", name_),
                     .field = "model",
                     .reason = "model_not_ready",
                     .retry_after_s = 2};
}

Result<Slot> Pool::pick(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  TRY(Slot slot, choose(key, {}));
  retries_ = std::min(retries_ + kRetriesPerRequest, kMostRetries);
  return slot;
}

std::optional<Slot> Pool::pick_again(std::uint64_t key, std::span<const std::string> tried_labels) {
  const std::lock_guard lock(mutex_);
  if (retries_ < 1) return std::nullopt;
  Result<Slot> slot = choose(key, tried_labels);
  if (!slot.ok()) return std::nullopt;
  retries_ -= 1;
  ++num_retries_;
  return std::move(*slot);
}

std::uint64_t Pool::num_retries() const {
  const std::lock_guard lock(mutex_);
  return num_retries_;
}

}  // namespace kvasir::upstream
