#include "router/ejections.h"

#include <algorithm>
#include <chrono>

namespace kvasir::router {

base::TimePoint Ejections::after(base::TimePoint now, double seconds) {
  return now + std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

bool Ejections::fails_too_often(const State& state) {
  if (state.lost_in_a_row >= kLostInARow) return true;
  return state.num_lost >= kLeastLost && state.num_lost >= state.num_well;
}

bool Ejections::note(const std::string& member, Outcome outcome, std::size_t num_members,
                     base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  State& state = states_[member];
  const bool is_lost = outcome == Outcome::lost;
  if (state.is_out) {
    // Requests that began before tell nothing new.
    if (!state.is_tried) return false;
    if (is_lost) {
      put_out(member, state, now);
      return true;
    }
    const int times = state.times;
    state = {.window = now, .back = now, .times = times};
    --num_out_;
    return false;
  }
  if (base::seconds(now - state.window) > kWindow_s) {
    state.num_well = state.num_lost = 0;
    state.window = now;
  }
  state.lost_in_a_row = is_lost ? state.lost_in_a_row + 1 : 0;
  ++(is_lost ? state.num_lost : state.num_well);
  if (!is_lost || !fails_too_often(state)) return false;
  if (static_cast<std::size_t>(num_out_) + 1 > num_members / 2) return false;
  if (base::seconds(now - state.back) > kForgiven_s) state.times = 0;
  ++num_out_;
  put_out(member, state, now);
  return true;
}

void Ejections::put_out(const std::string& member, State& state, base::TimePoint now) {
  double seconds = kFirstTime_s;
  for (int i = 0; i < state.times && seconds < kLongestTime_s; ++i) seconds *= 2;
  ++state.times;
  state.is_out = true;
  state.is_tried = false;
  state.until = after(now, std::min(seconds, kLongestTime_s));
  ++counts_[member];
}

void Ejections::append_out(std::vector<std::string>& members, base::TimePoint now) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [member, state] : states_)
    if (state.is_out && now < state.until) members.push_back(member);
}

void Ejections::begin(const std::string& member, base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(member);
  if (found == states_.end() || !found->second.is_out || now < found->second.until) return;
  found->second.is_tried = true;
  found->second.until = after(now, kTrial_s);
}

void Ejections::forget(const std::string& member) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(member);
  if (found == states_.end()) return;
  if (found->second.is_out) --num_out_;
  states_.erase(found);
}

std::map<std::string, std::uint64_t> Ejections::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kvasir::router
