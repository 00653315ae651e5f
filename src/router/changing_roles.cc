#include "router/changing_roles.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire/worker_card.h"

namespace kvasir::router {

namespace {

// The number changes if the load asks for another one by at least this many members. It is more than a half,
// so that a share between two numbers does not move members back and forth.
constexpr double kClear = 0.75;
// A pool is idle if its members together have computed for less than this part of the window.
constexpr double kIdle = 0.05;
// The members are observed this many times in a window.
constexpr double kObservations = 30;

}  // namespace

void ChangingRoles::observe(std::span<const Seen> members, base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!is_due(now)) return;
  const auto pause = std::chrono::duration<double>(window_s_ / kObservations);
  due_ = (now + std::chrono::duration_cast<base::Duration>(pause)).time_since_epoch().count();
  const double kept = std::exp(-base::seconds(now - faded_at_) / window_s_);
  faded_at_ = now;
  recent_.busy_s *= kept;
  recent_.long_prompts_s *= kept;
  const History before = std::exchange(observed_, {});
  for (const Seen& member : members) add_work(member, before, now);
  settle(members, now);
}

// Nobody computes for longer than the time that has passed, whatever it reports. Of work that is learnt late,
// since this gateway had nothing to send, a window counts. A member's first report has only history, and so
// has the first one after its restart.
void ChangingRoles::add_work(const Seen& member, const History& before, base::TimePoint now) {
  observed_.insert_or_assign(std::string(member.id), Observed{member.work, now});
  const auto found = before.find(member.id);
  if (found == before.end()) return;
  const auto& [work, at] = found->second;
  const double busy_s = member.work.busy_s - work.busy_s;
  const double long_s = member.work.long_prompts_s - work.long_prompts_s;
  if (!(busy_s > 0) || !(long_s >= 0)) return;
  const double share = std::min(1.0, long_s / busy_s);
  const double counted_s = std::min({busy_s, base::seconds(now - at), window_s_});
  recent_.busy_s += counted_s;
  recent_.long_prompts_s += counted_s * share;
}

void ChangingRoles::settle(std::span<const Seen> members, base::TimePoint now) {
  const auto count = [&](std::string_view role) {
    return static_cast<int>(std::ranges::count(members, role, &Seen::role));
  };
  const int num_members = static_cast<int>(members.size());
  const int num_auto = count(wire::kAutoRole);
  const int num_fixed = count(wire::kPrefillRole);
  const bool others_answer = num_auto + num_fixed < num_members;
  const int most = std::max(0, num_auto - (others_answer ? 0 : 1));
  if (num_prefill_ > most) num_prefill_ = most;
  if (base::seconds(now - changed_at_) < window_s_ / 3 || !(recent_.busy_s > kIdle * window_s_)) return;
  const double wanted = num_members * recent_.long_prompts_s / recent_.busy_s - num_fixed;
  const double more = wanted - num_prefill_;
  const int step = more >= kClear ? 1 : more <= -kClear ? -1 : 0;
  const int number = std::clamp(num_prefill_ + step, 0, most);
  if (number == num_prefill_) return;
  num_prefill_ = number;
  changed_at_ = now;
}

}  // namespace kvasir::router
