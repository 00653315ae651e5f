#include "meter/meter.h"

#include <algorithm>
#include <utility>

#include "meter/segment.h"
#include "obs/log.h"

namespace kvasir::meter {

using base::Result;
using base::Status;

namespace {

constexpr int kMaxPauses = 64;  // at most this many intervals between two tries while the store fails

Result<LogFolder> take_own(std::vector<LogFolder>& claimed, const std::filesystem::path& root) {
  if (claimed.empty()) return LogFolder::make(root);
  LogFolder own = std::move(claimed.back());
  claimed.pop_back();
  return own;
}

// The first position that the log has never used.
Result<std::int64_t> first_free(const LogFolder& folder, store::Usage& usage) {
  TRY(std::int64_t position, usage.position(folder.id()));
  TRY(const std::vector<Segment> segments, list_segments(folder.path()));
  for (const Segment& segment : segments) position = std::max(position, segment.end);
  return position;
}

}  // namespace

Meter::Meter(Options options, LogFolder own, std::int64_t begin, store::Usage& usage)
    : prices_(std::move(options.prices)),
      fold_interval_(options.fold_interval),
      usage_(usage),
      own_(std::move(own)),
      log_(own_.path(), begin, std::move(options.log)),
      fold_(own_.path(), own_.id(), usage),
      last_recorded_(base::RealClock().now()),
      last_caught_up_(last_recorded_.load()) {}

Result<std::unique_ptr<Meter>> Meter::open(Options options, store::Usage& usage) {
  const std::filesystem::path root = options.folder;
  TRY(std::vector<LogFolder> claimed, LogFolder::claim(root));
  TRY(LogFolder own, take_own(claimed, root));
  TRY(const std::int64_t begin, first_free(own, usage));
  std::unique_ptr<Meter> meter(new Meter(std::move(options), std::move(own), begin, usage));
  meter->left_ = std::move(claimed);
  meter->thread_ = std::thread([meter = meter.get()] { meter->fold_repeatedly(); });
  return meter;
}

Meter::~Meter() {
  log_.stop();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  if (const Status folded = fold_once(); !folded.ok())
    obs::Log::warn("usage_not_folded", {{"reason", folded.error().message}});
}

bool Meter::record(UsageRecord record, std::string_view tier, Done done, Wake wake) {
  if (const Price* price = prices_.find(record.model, tier); price != nullptr) {
    record.currency = price->currency;
    if (record.finish != Finish::failed)
      record.cost_nano =
          cost_nano(*price, {record.prompt_tokens, record.cached_tokens, record.completion_tokens});
  }
  const bool to_wake = log_.append(encode(record), std::move(done), wake);
  last_recorded_ = base::RealClock().now();
  return to_wake;
}

base::Duration Meter::lag() const {
  const base::TimePoint caught_up = last_caught_up_;
  if (last_recorded_.load() <= caught_up) return {};
  return base::RealClock().now() - caught_up;
}

Status Meter::fold_left() {
  while (!left_.empty()) {
    LogFold fold(left_.back().path(), left_.back().id(), usage_);
    TRY_OK(fold.fold_all());
    const std::string id = left_.back().id();
    // The files are deleted before the position: without a position, the files that are left would be folded
    // again.
    TRY_OK(left_.back().remove());
    left_.pop_back();
    TRY_OK(usage_.forget(id));
  }
  return base::ok();
}

Status Meter::fold_once() {
  TRY_OK(fold_.fold(log_.durable_end()));
  return fold_left();
}

Status Meter::fold_and_note() {
  const base::TimePoint now = base::RealClock().now();
  const bool all_on_disk = log_.all_on_disk();
  TRY_OK(fold_once());
  if (all_on_disk) last_caught_up_ = now;
  return base::ok();
}

void Meter::fold_repeatedly() {
  std::unique_lock lock(mutex_);
  int num_pauses = 1;
  bool failing = false;
  while (!stopping_) {
    lock.unlock();
    const Status folded = fold_and_note();
    lock.lock();
    if (!folded.ok() && !std::exchange(failing, true))
      obs::Log::warn("usage_not_folded", {{"reason", folded.error().message}});
    if (folded.ok()) failing = false;
    num_pauses = failing ? std::min(num_pauses * 2, kMaxPauses) : 1;
    changed_.wait_for(lock, fold_interval_ * num_pauses, [this] { return stopping_; });
  }
}

}  // namespace kvasir::meter
