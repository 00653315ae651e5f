#include "obs/tracer.h"

#include <cmath>
#include <utility>

namespace kvasir::obs {

Tracer& no_tracer() {
  static const base::RealClock clock;
  static Tracer tracer({.records = false}, clock);
  return tracer;
}

std::shared_ptr<Trace> Tracer::begin(std::string name, const std::optional<TraceContext>& parent,
                                     Detail detail) {
  const bool records = options_.records && detail == Detail::spans;
  return std::shared_ptr<Trace>(new Trace(*this, std::move(name), parent, records));
}

bool Tracer::samples(const TraceId& id) const {
  if (!options_.records || options_.sample_rate <= 0) return false;
  if (options_.sample_rate >= 1) return true;
  // The standard says that the last 56 bits are random.
  std::uint64_t bits = 0;
  for (std::size_t i = 9; i < id.size(); ++i) bits = bits << 8 | id[i];
  return static_cast<double>(bits) < std::ldexp(options_.sample_rate, 56);
}

void Tracer::take(FinishedTrace trace) {
  const std::size_t num_spans = trace.spans.size();
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    if (num_queued_spans_ + num_spans > options_.max_queued_spans) return count_dropped(num_spans);
    const bool first = queue_.empty();
    queue_.push_back(std::move(trace));
    num_queued_spans_ += num_spans;
    enough = first || num_queued_spans_ >= enough_;
  }
  if (enough) wake_.notify_one();
}

std::vector<FinishedTrace> Tracer::wait(std::size_t enough, std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  enough_ = enough;
  wake_.wait(lock, [this] { return hurries_ || !queue_.empty(); });
  wake_.wait_for(lock, at_most, [&] { return hurries_ || num_queued_spans_ >= enough; });
  std::vector<FinishedTrace> batch;
  std::size_t num_spans = 0;
  while (!queue_.empty() && num_spans < enough) {
    num_spans += queue_.front().spans.size();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  num_queued_spans_ -= num_spans;
  return batch;
}

void Tracer::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurries_ = true;
  }
  wake_.notify_all();
}

}  // namespace kvasir::obs
