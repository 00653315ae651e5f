#include "api/http/wait/event_log.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Once half of all places are taken, one tenant may have at most a quarter of all places, so that others find
// room.
constexpr std::size_t kPartOfATenant = 4;

Error too_many(std::string message) {
  return {.code = ErrorCode::exhausted,
          .message = std::move(message),
          .reason = "too_many_resumable_streams",
          .retry_after_s = 5};
}

}  // namespace

EventLog::EventLog(std::size_t max_bytes, const base::Clock& clock)
    : max_bytes_(max_bytes), clock_(clock), unread_since_(clock.now()) {}

std::string EventLog::append(std::string_view events) {
  std::string numbered;
  std::unique_lock lock(mutex_);
  while (!events.empty()) {
    const std::size_t end = events.find("\n\n");
    const std::size_t length = end == std::string_view::npos ? events.size() : end + 2;
    Event event{++last_, fmt::format("id: {}\n{}", last_, events.substr(0, length))};
    events.remove_prefix(length);
    numbered += event.text;
    num_bytes_ += event.text.size();
    events_.push_back(std::move(event));
  }
  while (num_bytes_ > max_bytes_ && !events_.empty()) {
    num_bytes_ -= events_.front().text.size();
    events_.pop_front();
  }
  tell_readers(lock);
  return numbered;
}

void EventLog::end() {
  std::unique_lock lock(mutex_);
  if (!ended_at_) ended_at_ = clock_.now();
  tell_readers(lock);
}

// The caller holds the lock, so no reader is called after its destructor. `changed` only posts.
void EventLog::tell_readers(std::unique_lock<std::mutex>&) {
  for (const auto& [key, changed] : readers_)
    if (changed) changed();
}

std::size_t EventLog::num_bytes() const {
  const std::lock_guard lock(mutex_);
  return num_bytes_;
}

bool EventLog::has_all() const {
  const std::lock_guard lock(mutex_);
  return events_.size() == last_;
}

bool EventLog::ended() const {
  return ended_at().has_value();
}

Result<EventLog::Page> EventLog::read(std::uint64_t after, std::size_t max_bytes) const {
  const std::lock_guard lock(mutex_);
  Page page{.last = after};
  const std::uint64_t first = last_ - events_.size() + 1;
  if (after + 1 < first)
    return Error{ErrorCode::not_found, fmt::format("the events up to {} are no longer kept", first - 1),
                 "after", "events_gone"};
  for (std::size_t i = std::min<std::uint64_t>(after + 1 - first, events_.size()); i < events_.size(); ++i) {
    if (!page.events.empty() && page.events.size() + events_[i].text.size() > max_bytes) break;
    page.events += events_[i].text;
    page.last = events_[i].number;
  }
  page.complete = ended_at_.has_value() && page.last >= last_;
  return page;
}

std::optional<base::TimePoint> EventLog::unread_since() const {
  const std::lock_guard lock(mutex_);
  return unread_since_;
}

std::optional<base::TimePoint> EventLog::ended_at() const {
  const std::lock_guard lock(mutex_);
  return ended_at_;
}

EventLog::Reader::Reader(std::shared_ptr<EventLog> log, std::function<void()> changed)
    : log_(std::move(log)) {
  const std::lock_guard lock(log_->mutex_);
  key_ = log_->next_key_++;
  log_->readers_.emplace(key_, std::move(changed));
  log_->unread_since_.reset();
}

EventLog::Reader::~Reader() {
  const std::lock_guard lock(log_->mutex_);
  log_->readers_.erase(key_);
  if (log_->readers_.empty()) log_->unread_since_ = log_->clock_.now();
}

void EventLogs::drop_old() {
  const base::TimePoint now = clock_.now();
  std::erase_if(logs_, [&](const auto& entry) {
    const auto ended = entry.second->ended_at();
    return ended && now - *ended >= limits_.keep;
  });
}

Result<std::shared_ptr<EventLog>> EventLogs::open(const store::Key& key) {
  const std::lock_guard lock(mutex_);
  drop_old();
  std::size_t num_running = 0;
  std::size_t num_own = 0;
  auto oldest = logs_.end();
  for (auto it = logs_.begin(); it != logs_.end(); ++it) {
    const auto ended = it->second->ended_at();
    if (ended && (oldest == logs_.end() || *ended < *oldest->second->ended_at())) oldest = it;
    if (ended) continue;
    ++num_running;
    num_own += it->first.first == key.tenant ? 1 : 0;
  }
  const bool is_alone = num_own == num_running && key.tenant.empty();  // no keys are in use
  const std::size_t part = std::max<std::size_t>(1, limits_.max_logs / kPartOfATenant);
  if (!is_alone && num_own >= part && num_running >= limits_.max_logs / 2)
    return too_many(
        fmt::format("{} resumable streams of yours run already; the rest are for others", num_own));
  if (logs_.size() >= limits_.max_logs) {
    if (oldest == logs_.end())
      return too_many(fmt::format("{} resumable streams run already", limits_.max_logs));
    logs_.erase(oldest);
  }
  auto log = std::make_shared<EventLog>(limits_.max_bytes_per_log, clock_);
  logs_.emplace(std::pair(key.tenant, key.id), log);
  return log;
}

Result<std::shared_ptr<EventLog>> EventLogs::find(const store::Key& key) {
  const std::lock_guard lock(mutex_);
  drop_old();
  const auto found = logs_.find(std::pair(key.tenant, key.id));
  if (found == logs_.end())
    return Error{
        ErrorCode::not_found,
        fmt::format("there is no stream \"{}\" that can be resumed; it may have been too long ago", key.id),
        "id", "stream_not_found"};
  return found->second;
}

void EventLogs::forget(const store::Key& key) {
  const std::lock_guard lock(mutex_);
  logs_.erase(std::pair(key.tenant, key.id));
}

bool EventLogs::abandoned(const EventLog& log) const {
  const auto since = log.unread_since();
  return since && clock_.now() - *since >= limits_.keep;
}

std::size_t EventLogs::num_bytes() const {
  std::size_t sum = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, log] : logs_) sum += log->num_bytes();
  return sum;
}

}  // namespace kvasir::api
