#include "fleet/etcd_membership.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "fleet/member_text.h"
#include "obs/log.h"

namespace kvasir::fleet {

namespace {

// A watch that is silent for this long may be dead, so everything is read again.
constexpr std::chrono::seconds kSilence{20};
constexpr std::chrono::seconds kShortSilence{2};  // while a known member is missing
constexpr std::chrono::milliseconds kPause{500};

void pause(const std::stop_token& stop, std::chrono::milliseconds duration) {
  std::mutex unused;
  std::unique_lock lock(unused);
  std::condition_variable_any().wait_for(lock, stop, duration, [] { return false; });
}

}  // namespace

EtcdMembership::EtcdMembership(EtcdOptions options, OnMembers on_members)
    : client_(std::move(options)),
      on_members_(std::move(on_members)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

EtcdMembership::~EtcdMembership() = default;

void EtcdMembership::run(const std::stop_token& stop) {
  bool is_reachable = true;
  while (!stop.stop_requested()) {
    base::Status status = base::ok();
    const base::Result<std::int64_t> revision = read_all(stop);
    if (revision.ok()) {
      if (!std::exchange(is_reachable, true)) obs::Log::info("etcd_is_back", {{"members", known_.size()}});
      tell();
      status = client_.watch(
          *revision + 1, any_missing() ? kShortSilence : kSilence,
          [this](const std::vector<EtcdClient::Event>& events) {
            for (const EtcdClient::Event& event : events) take(event);
            tell();
          },
          stop);
    } else {
      status = revision.error();
    }
    if (stop.stop_requested()) return;
    // A watch without news ends with a timeout.
    if (revision.ok() && !status.ok() && status.error().code == base::ErrorCode::timeout) continue;
    if (std::exchange(is_reachable, false))
      obs::Log::warn("etcd_unreachable",
                     {{"reason", status.ok() ? "it ended the watch" : status.error().message},
                      {"members", known_.size()}});
    pause(stop, kPause);
  }
}

base::Result<std::int64_t> EtcdMembership::read_all(const std::stop_token& stop) {
  TRY(const EtcdClient::Range range, client_.range(stop));
  const base::TimePoint now = base::RealClock().now();
  std::map<std::string, bool> is_there;
  for (const EtcdClient::Entry& entry : range.entries) {
    add(entry.key, entry.value);
    is_there[entry.key] = true;
  }
  for (auto it = known_.begin(); it != known_.end();) {
    Known& one = it->second;
    if (!is_there.contains(it->first) && !one.missing_since) one.missing_since = now;
    const bool is_gone = one.missing_since && now - *one.missing_since >= kGrace;
    it = is_gone ? known_.erase(it) : std::next(it);
  }
  return range.revision;
}

void EtcdMembership::take(const EtcdClient::Event& event) {
  if (event.value)
    add(event.key, *event.value);
  else
    known_.erase(event.key);  // the worker left, or its lease ran out
}

void EtcdMembership::add(const std::string& key, const std::string& value) {
  const base::Result<WorkerPlace> place = read_member(value);
  if (!place.ok()) {
    obs::Log::warn("member_unreadable", {{"key", key}, {"reason", place.error().message}});
    return;
  }
  known_[key] = {.place = *place};
}

bool EtcdMembership::any_missing() const {
  return std::ranges::any_of(known_, [](const auto& one) { return one.second.missing_since.has_value(); });
}

void EtcdMembership::tell() {
  std::vector<WorkerPlace> members;
  for (const auto& [key, one] : known_) members.push_back(one.place);
  std::ranges::sort(members, {}, &WorkerPlace::id);
  if (told_ == members) return;
  told_ = members;
  on_members_(members);
}

}  // namespace kvasir::fleet
