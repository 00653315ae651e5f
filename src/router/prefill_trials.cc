#include "router/prefill_trials.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvasir::router {

namespace {

constexpr std::size_t kAllMayBeOut = std::numeric_limits<std::size_t>::max();

}  // namespace

void PrefillTrials::join(const std::string& address) {
  const std::lock_guard lock(mutex_);
  present_.insert(address);
}

void PrefillTrials::heed(const std::string& member, const Links& links, base::TimePoint now) {
  if (!links) return;
  const std::lock_guard lock(mutex_);
  Links& heeded = heeded_[member];
  if (heeded == links) return;
  const Links before = std::exchange(heeded, links);
  if (!before) return;
  for (const wire::KvLink& link : *links) {
    if (!present_.contains(link.address)) continue;
    const auto known = std::ranges::find(*before, link.address, &wire::KvLink::address);
    heed_one(known == before->end() ? wire::KvLink{} : *known, link, now);
  }
}

// Notes the prompts that failed and that succeeded since the last message. The link has only their counts and
// how the last one ended, so that one's outcome is noted last.
void PrefillTrials::heed_one(const wire::KvLink& before, const wire::KvLink& link, base::TimePoint now) {
  const auto note = [&](std::uint64_t was, std::uint64_t is, Ejections::Outcome outcome) {
    for (std::uint64_t i = was; i < is && i - was < 8; ++i)
      ejections_.note(link.address, outcome, kAllMayBeOut, now);
  };
  const auto note_good = [&] { note(before.num_good, link.num_good, Ejections::Outcome::ended_well); };
  if (!link.ended_well) note_good();
  note(before.num_failed, link.num_failed, Ejections::Outcome::lost);
  if (link.ended_well) note_good();
}

void PrefillTrials::forget(const std::string& member, const std::string& address) {
  const std::lock_guard lock(mutex_);
  heeded_.erase(member);
  if (const auto found = present_.find(address); found != present_.end()) present_.erase(found);
  ejections_.forget(address);
}

std::uint64_t PrefillTrials::count(const std::string& address) const {
  const auto counts = ejections_.counts();
  const auto found = counts.find(address);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace kvasir::router
