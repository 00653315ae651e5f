#include "router/ejections.h"

namespace kvasir::router {

bool Ejections::note(const std::string& member, Outcome outcome, std::size_t num_members,
                     base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  base::Probation& probation = members_.try_emplace(member, options_).first->second;
  const bool was_out = probation.is_out();
  bool is_put_out = false;
  if (outcome == Outcome::lost)
    is_put_out = probation.note_failure(now, static_cast<std::size_t>(num_out_) + 1 > num_members / 2);
  else
    probation.note_good(now);
  num_out_ += static_cast<int>(probation.is_out()) - static_cast<int>(was_out);
  if (is_put_out) ++counts_[member];
  return is_put_out;
}

void Ejections::append_out(std::vector<std::string>& members, base::TimePoint now) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [member, probation] : members_)
    if (!probation.admits(now)) members.push_back(member);
}

bool Ejections::admits(const std::string& member, base::TimePoint now) const {
  if (!any()) return true;
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(member);
  return found == members_.end() || found->second.admits(now);
}

void Ejections::begin(const std::string& member, base::TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (const auto found = members_.find(member); found != members_.end()) found->second.begin(now);
}

void Ejections::forget(const std::string& member) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  if (found->second.is_out()) --num_out_;
  members_.erase(found);
}

std::map<std::string, std::uint64_t> Ejections::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kvasir::router
