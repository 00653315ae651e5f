#include "api/http/wait/late_writes.h"

#include <algorithm>
#include <utility>

#include "obs/log.h"

namespace kvasir::api {

using base::ErrorCode;
using base::Status;

namespace {

bool is_final(const base::Error& error) {
  return error.code == ErrorCode::not_found || error.code == ErrorCode::conflict;
}

std::size_t size_of(const Writes& writes) {
  std::size_t num_bytes = 0;
  for (const Write& write : writes) num_bytes += write.num_bytes;
  return num_bytes;
}

}  // namespace

Status write_all(store::Store& store, Writes& writes) {
  Status first = base::ok();
  while (!writes.empty()) {
    Status done = writes.front().run(store);
    const bool over = done.ok() || is_final(done.error());
    if (first.ok()) first = std::move(done);
    if (!over) break;
    writes.pop_front();
  }
  return first;
}

LateWrites::LateWrites(store::Store& store, Limits limits)
    : store_(store), limits_(limits), thread_([this] { work(); }) {}

LateWrites::~LateWrites() {
  stop();
}

void LateWrites::add(Writes writes, Write otherwise) {
  const std::lock_guard lock(mutex_);
  Entry entry{std::move(writes), 0};
  entry.num_bytes = size_of(entry.writes);
  if (num_bytes_ + entry.num_bytes > limits_.max_bytes) {
    entry.writes.clear();
    entry.num_bytes = otherwise.num_bytes;
    entry.writes.push_back(std::move(otherwise));
  }
  if (stopped_ || waiting_.size() >= limits_.max_waiting) {
    obs::Log::error("write_lost", {{"waiting", waiting_.size()}});
    return;
  }
  num_bytes_ += entry.num_bytes;
  waiting_.push_back(std::move(entry));
  changed_.notify_one();
}

void LateWrites::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool LateWrites::try_oldest(std::unique_lock<std::mutex>& lock) {
  Entry entry = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  const Status done = write_all(store_, entry.writes);
  lock.lock();
  const bool over = entry.writes.empty();
  if (over) {
    num_bytes_ -= entry.num_bytes;
  } else {
    obs::Log::debug("write_failed_again", {{"reason", done.error().message}});
    // The write goes to the end of the queue, so that one that always fails does not block the others.
    waiting_.push_back(std::move(entry));
  }
  return over;
}

void LateWrites::work() {
  std::unique_lock lock(mutex_);
  base::Duration pause = limits_.first_pause;
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (changed_.wait_for(lock, pause, [this] { return stopped_; })) break;
    const bool over = try_oldest(lock);
    if (!over)
      pause = std::min(std::max(pause * 2, limits_.first_pause), limits_.max_pause);
    else
      pause = waiting_.empty() ? limits_.first_pause : base::Duration::zero();
  }
  while (!waiting_.empty() && try_oldest(lock)) continue;
  if (!waiting_.empty()) obs::Log::error("writes_lost", {{"waiting", waiting_.size()}});
}

}  // namespace kvasir::api
