#include "router/changing_roles.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire/worker_card.h"

namespace kvasir::router {

namespace {

// The number changes if the load asks for another one by at least so many members. More than half, so that a
// share between two numbers does not move members to and fro.
constexpr double kClear = 0.75;
// A pool whose members together have computed for less than this part of the window is idle.
constexpr double kIdle = 0.05;

}  // namespace

void ChangingRoles::Crew::add(std::string_view role) {
  ++(role == wire::kAutoRole ? num_changing : role == wire::kPrefillRole ? num_prefill : num_others);
}

void ChangingRoles::heed(const std::string& member, const Work& work, base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  const double kept = std::exp(-base::seconds(now - faded_at_) / window_s_);
  faded_at_ = now;
  recent_.busy_s *= kept;
  recent_.long_prompts_s *= kept;
  const Report report{work, now};
  const auto [found, is_first] = heeded_.try_emplace(member, report);
  const Report before = std::exchange(found->second, report);
  const double busy_s = work.busy_s - before.work.busy_s;
  const double long_prompts_s = work.long_prompts_s - before.work.long_prompts_s;
  const bool has_restarted = busy_s < 0 || long_prompts_s < 0;
  if (is_first || has_restarted) return;
  // A gateway that had nothing to send for long learns of much work at once, most of which is old.
  const double passed_s = base::seconds(now - before.at);
  const double recent = passed_s > window_s_ ? window_s_ / passed_s : 1;
  recent_.busy_s += recent * busy_s;
  recent_.long_prompts_s += recent * long_prompts_s;
}

void ChangingRoles::forget(const std::string& member) {
  const std::lock_guard lock(mutex_);
  heeded_.erase(member);
}

double ChangingRoles::wanted(const Crew& crew) const {
  const int num_members = crew.num_changing + crew.num_prefill + crew.num_others;
  return num_members * recent_.long_prompts_s / recent_.busy_s - crew.num_prefill;
}

void ChangingRoles::settle(const Crew& crew, base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  const int most = std::max(0, crew.num_changing - (crew.num_others > 0 ? 0 : 1));
  if (num_prefill_ > most) num_prefill_ = most;
  if (base::seconds(now - changed_at_) < window_s_ / 3 || !(recent_.busy_s > kIdle * window_s_)) return;
  const double more = wanted(crew) - num_prefill_;
  const int step = more >= kClear ? 1 : more <= -kClear ? -1 : 0;
  const int number = std::clamp(num_prefill_ + step, 0, most);
  if (number == num_prefill_) return;
  num_prefill_ = number;
  changed_at_ = now;
}

}  // namespace kvasir::router
