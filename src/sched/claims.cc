#include "sched/claims.h"

#include <algorithm>

namespace kvasir::sched {

namespace {

// Each lower class that has work keeps one place in this many.
constexpr int kReservedPart = 16;

template <class Key>
int changed(const std::unordered_map<Key, int>& changes, Key key) {
  const auto found = changes.find(key);
  return found == changes.end() ? 0 : found->second;
}

}  // namespace

bool Claims::must_yield(const Sequence& running, const Sequence& waiting) const {
  const int priority = running.request.priority;
  if (priority > waiting.request.priority) return false;
  if (priority < waiting.request.priority) return num_in_class(priority) > num_reserved();
  const Account* holder = running.share->account;
  const Account* claimant = waiting.share->account;
  if (holder == claimant) return num_in_request(running.share) > num_in_request(waiting.share) + 1;
  if (claimant->charge > holder->charge) return false;
  const int num_held = num_in_tenant(holder);
  return num_held > 1 && num_held / holder->weight > (num_in_tenant(claimant) + 1) / claimant->weight;
}

bool Claims::may_displace(const Sequence& waiting) {
  const int priority = waiting.request.priority;
  for (const auto& [other, of] : state_.shares.classes())
    if (other < priority && num_in_class(other) > num_reserved()) return true;
  const Most& most = most_in_class(priority);
  const Account* claimant = waiting.share->account;
  return most.of_tenant > (num_in_tenant(claimant) + 1) / claimant->weight ||
         most.of_request > num_in_request(waiting.share) + 1;
}

const Claims::Most& Claims::most_in_class(int priority) {
  const auto [found, is_new] = most_.try_emplace(priority);
  Most& most = found->second;
  if (!is_new) return most;
  for (const Sequence* running : state_.running) {
    const Account* holder = running->share->account;
    const int num_held = num_in_tenant(holder);
    if (holder->priority != priority || num_held <= 1) continue;
    most.of_tenant = std::max(most.of_tenant, num_held / holder->weight);
    most.of_request = std::max(most.of_request, num_in_request(running->share));
  }
  return most;
}

int Claims::num_kept_from(const Sequence& sequence) const {
  int num_kept = 0;
  for (const auto& [priority, of] : state_.shares.classes()) {
    if (priority >= sequence.request.priority || of.num_live == 0) continue;
    const int num_running = num_in_class(priority);
    num_kept += std::clamp(num_reserved() - num_running, 0, of.num_live - of.num_running);
  }
  return num_kept;
}

void Claims::count(const Sequence& sequence, int change) {
  most_.clear();
  class_changes_[sequence.request.priority] += change;
  tenant_changes_[sequence.share->account] += change;
  request_changes_[sequence.share] += change;
}

int Claims::num_reserved() const {
  const int num_places = state_.options.max_batch_sequences;
  return num_places == 1 ? 0 : std::max(1, num_places / kReservedPart);
}

int Claims::num_in_class(int priority) const {
  const auto found = state_.shares.classes().find(priority);
  const int num_running = found == state_.shares.classes().end() ? 0 : found->second.num_running;
  return num_running + changed(class_changes_, priority);
}

int Claims::num_in_tenant(const Account* account) const {
  return account->num_running + changed(tenant_changes_, account);
}

int Claims::num_in_request(const RequestShare* request) const {
  return request->num_running + changed<const RequestShare*>(request_changes_, request);
}

}  // namespace kvasir::sched
