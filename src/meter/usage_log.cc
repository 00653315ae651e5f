#include "meter/usage_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "meter/segment.h"
#include "obs/log.h"

namespace kvasir::meter {

using base::ErrorCode;
using base::Status;

namespace {

// Gives a new segment's file its full size, if the disk has room for it. A sync then writes only records, and
// not also the file's length.
void fill_segment(int file, std::int64_t num_bytes) {
  const std::string zeros(static_cast<std::size_t>(num_bytes), '\0');
  const bool filled = ::pwrite(file, zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(zeros.size());
  if (!filled && ::ftruncate(file, 0) != 0) obs::Log::debug("usage_log_not_cut");
}

base::Error failed_to(const char* what) {
  return base::error(ErrorCode::io, "the usage log cannot be {}: {}", what, std::strerror(errno));
}

}  // namespace

UsageLog::UsageLog(std::filesystem::path folder, std::int64_t begin, Options options)
    : folder_(std::move(folder)),
      options_(std::move(options)),
      durable_end_(begin),
      thread_([this] { work(); }) {}

UsageLog::~UsageLog() {
  stop();
}

void UsageLog::stop() {
  release_waiters();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  close_segment();
}

bool UsageLog::append(std::string bytes, Done done, Wake wake) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = waiting_.empty();
    const bool fits = num_bytes_ + bytes.size() <= options_.max_waiting_bytes;
    const bool waits = fits && done && !released_;
    if (fits) {
      num_bytes_ += bytes.size();
      waiting_.push_back(std::move(bytes));
      ++num_appended_;
      if (waits) waiters_.push_back({num_appended_, std::exchange(done, {})});
    } else {
      count_lost(1);
    }
  }
  if (is_first && wake == Wake::now) changed_.notify_one();
  if (done) done();
  return is_first && wake == Wake::later;
}

void UsageLog::release_waiters() {
  std::unique_lock lock(mutex_);
  released_ = true;
  tell(lock, num_appended_);
}

void UsageLog::tell(std::unique_lock<std::mutex>& lock, std::uint64_t num_written) {
  told_.wait(lock, [this] { return !telling_; });
  std::vector<Done> dones;
  while (!waiters_.empty() && waiters_.front().number <= num_written) {
    dones.push_back(std::move(waiters_.front().done));
    waiters_.pop_front();
  }
  if (dones.empty()) return;
  telling_ = true;
  lock.unlock();
  for (const Done& done : dones) done();
  lock.lock();
  telling_ = false;
  told_.notify_all();
}

void UsageLog::work() {
  std::unique_lock lock(mutex_);
  base::Duration pause = options_.first_pause;
  std::vector<std::string> batch;
  std::uint64_t num_written = 0;
  while (true) {
    // A record that comes alone is synced at once; records that come during a sync share the next one.
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty() || !batch.empty(); });
    for (std::string& record : waiting_) batch.push_back(std::move(record));
    waiting_.clear();
    if (batch.empty()) return;
    const bool last = stopping_;
    lock.unlock();
    const Status written = write(batch);
    note(written);
    lock.lock();
    if (written.ok()) {
      for (const std::string& record : batch) num_bytes_ -= record.size();
      num_written += batch.size();
      batch.clear();
      pause = options_.first_pause;
      tell(lock, num_written);
    } else if (last) {
      return count_lost(batch.size() + waiting_.size());
    } else {
      changed_.wait_for(lock, pause, [this] { return stopping_; });
      pause = std::min(pause * 2, options_.max_pause);
    }
  }
}

Status UsageLog::write(const std::vector<std::string>& records) {
  if (file_ >= 0 && durable_end_ - segment_begin_ >= options_.max_segment_bytes) close_segment();
  if (file_ < 0) TRY_OK(open_segment());
  std::string frames;
  for (const std::string& record : records)
    append_frame(frames, durable_end_ + static_cast<std::int64_t>(frames.size()), record);
  if (Status done = put(frames); !done.ok()) {
    // All records of the batch will be written again, so the ones that are partly there are cut off.
    if (::ftruncate(file_, durable_end_ - segment_begin_) != 0) obs::Log::debug("usage_log_not_cut");
    return done;
  }
  durable_end_ += static_cast<std::int64_t>(frames.size());
  return base::ok();
}

Status UsageLog::put(const std::string& frames) {
  std::size_t num_put = 0;
  while (num_put < frames.size()) {
    const auto at = durable_end_ - segment_begin_ + static_cast<std::int64_t>(num_put);
    const ssize_t put = ::pwrite(file_, frames.data() + num_put, frames.size() - num_put, at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return failed_to("written");
    num_put += static_cast<std::size_t>(put);
  }
  if (options_.before_sync) options_.before_sync();
  if (::fdatasync(file_) != 0) return failed_to("synced");
  return base::ok();
}

Status UsageLog::open_segment() {
  const std::filesystem::path path = segment_path(folder_, durable_end_);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return failed_to("opened");
  if (Status synced = sync_folder(folder_); !synced.ok()) {
    ::close(file);
    return synced;
  }
  fill_segment(file, options_.max_segment_bytes);
  file_ = file;
  segment_begin_ = durable_end_;
  return base::ok();
}

// Cuts the file to what was written, since the next segment begins at that position.
void UsageLog::close_segment() {
  if (file_ < 0) return;
  if (::ftruncate(file_, durable_end_ - segment_begin_) != 0) obs::Log::debug("usage_log_not_cut");
  ::close(std::exchange(file_, -1));
}

void UsageLog::note(const Status& written) {
  if (written.ok() == !failing_) return;
  failing_ = !written.ok();
  if (failing_)
    obs::Log::error("usage_log_failed", {{"reason", written.error().message}});
  else
    obs::Log::info("usage_log_mended", {{"lost", num_lost_.load()}});
}

void UsageLog::count_lost(std::uint64_t num_records) {
  if (num_lost_.fetch_add(num_records) == 0) obs::Log::error("usage_lost", {{"records", num_records}});
}

}  // namespace kvasir::meter
