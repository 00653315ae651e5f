#include <algorithm>
#include <utility>

#include "router/router.h"
#include "router/router_entry.h"

// The part of Router about pool members: joining, leaving, failures and wrong answers.
namespace kvasir::router {

void Router::add_member(std::string_view name, std::string id, std::shared_ptr<seam::WorkerClient> worker,
                        MemberPart part) {
  const auto entry = find_locked(name);
  if (!entry || entry->failures->trust.is_distrusted(id)) return;
  entry->failures->ejections.forget(id);
  entry->pool.add(std::move(id), std::move(worker), std::move(part));
}

void Router::add_embedder(std::string_view name, std::string id, std::shared_ptr<seam::EmbedClient> worker) {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  if (!entry) return;
  std::erase_if(entry->embedders, [&id](const auto& member) { return member->id == id; });
  entry->embedders.push_back(std::make_shared<EmbedMember>(std::move(id), std::move(worker)));
}

void Router::remove_member(std::string_view name, std::string_view id) {
  const auto entry = find_locked(name);
  if (!entry) return;
  entry->pool.remove(id);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(entry->embedders, [id](const auto& member) { return member->id == id; });
  }
  entry->failures->ejections.forget(std::string(id));
}

void Router::note(std::string_view name, const std::string& member, Ejections::Outcome outcome) {
  std::unique_lock lock(mutex_);
  const auto entry = find(name);
  if (!entry) return;
  const Pool::Members members = entry->pool.members();
  lock.unlock();
  const bool is_there =
      std::ranges::any_of(*members, [&member](const Pool::Seat& seat) { return seat.member->id == member; });
  if (is_there) entry->failures->ejections.note(member, outcome, members->size(), clock_.now());
}

bool Router::take_retry(std::string_view name) {
  std::unique_lock lock(mutex_);
  const auto entry = find(name);
  if (!entry) return false;
  const Pool::Members members = entry->pool.members();
  lock.unlock();
  int num_running = 0;
  for (const Pool::Seat& seat : *members) num_running += seat.member->num_leases();
  return entry->failures->retries.take(num_running, clock_.now());
}

void Router::give_back_retry(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = find(name)) entry->failures->retries.give_back();
}

void Router::count(std::string_view name, FailoverOutcome outcome) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = find(name)) entry->failures->failovers.add(outcome);
}

std::shared_ptr<const Router::PoolFailures> Router::failures(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = find(name);
  return entry ? entry->failures : nullptr;
}

int Router::num_members() const {
  const std::lock_guard lock(mutex_);
  int num = 0;
  for (const auto& entry : entries_)
    num += static_cast<int>(entry->pool.members()->size() + entry->embedders.size());
  return num;
}

std::vector<std::shared_ptr<WorkerMember>> Router::members_of(std::string_view name,
                                                              std::uint64_t version) const {
  std::unique_lock lock(mutex_);
  const auto entry = find(name);
  if (!entry || !entry->text || common_text(*entry->text).version != version) return {};
  const Pool::Members members = entry->pool.members();
  lock.unlock();
  std::vector<std::shared_ptr<WorkerMember>> all;
  for (const Pool::Seat& seat : *members) all.push_back(seat.member);
  return all;
}

void Router::count_check(std::string_view name) {
  if (const auto entry = find_locked(name)) entry->failures->trust.count_check();
}

void Router::count_disagreement(std::string_view name, const std::string& member) {
  if (const auto entry = find_locked(name)) entry->failures->trust.count_disagreement(member);
}

void Router::distrust(std::string_view name, const std::string& member) {
  const auto entry = find_locked(name);
  if (!entry) return;
  entry->failures->trust.distrust(member);
  entry->pool.remove(member);
}

bool Router::is_distrusted(std::string_view name, std::string_view member) const {
  const auto entry = find_locked(name);
  return entry && entry->failures->trust.is_distrusted(member);
}

void Router::trust_again(std::string_view member) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) entry->failures->trust.trust_again(member);
}

bool Router::wants_answer() const {
  return listener_to_answers_ && listener_to_answers_->wants_answer();
}

void Router::offer_answer(GivenAnswer answer) const {
  listener_to_answers_->on_answer(std::move(answer));
}

}  // namespace kvasir::router
