#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "obs/trace.h"

namespace kvasir::obs {

// Begins traces, decides which are kept, and holds the ended ones until an exporter takes them. Thread-safe.
// Outlives its traces and their exporter. If the queue is full, a trace is dropped and counted, so that no
// request waits for an exporter.
class Tracer {
 public:
  struct Options {
    bool records = false;    // false: traces have ids but no spans, since there is no exporter
    double sample_rate = 1;  // for traces whose client has not decided
    std::size_t max_queued_spans = 16384;
  };
  Tracer(Options options, const base::Clock& clock) : options_(options), clock_(clock) {}
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Whether a new trace records spans. Use `ids_only` for requests whose traces are of no interest.
  enum class Detail : std::uint8_t { spans, ids_only };
  // `parent` is the client's place in its own trace. The client's decision about sampling is respected.
  std::shared_ptr<Trace> begin(std::string name, const std::optional<TraceContext>& parent, Detail detail);

  // Depends only on the id, so that servers with the same rate choose the same traces.
  bool samples(const TraceId& id) const;
  const base::Clock& clock() const { return clock_; }

  // Receives an ended trace that is to be exported.
  void take(FinishedTrace trace);

  // For the exporter: waits until there are `enough` spans, until the first of them has waited for `at_most`,
  // or until `hurry` was called. Returns about `enough` spans at most, and at least one trace if there is
  // any.
  std::vector<FinishedTrace> wait(std::size_t enough, std::chrono::milliseconds at_most);
  // Makes `wait` return at once from now on.
  void hurry();

  std::uint64_t num_dropped_spans() const { return num_dropped_.load(std::memory_order_relaxed); }
  void count_dropped(std::size_t num_spans) { num_dropped_.fetch_add(num_spans, std::memory_order_relaxed); }
  std::uint64_t num_exported_spans() const { return num_exported_.load(std::memory_order_relaxed); }
  void count_exported(std::size_t num_spans) {
    num_exported_.fetch_add(num_spans, std::memory_order_relaxed);
  }

 private:
  const Options options_;
  const base::Clock& clock_;
  std::atomic<std::uint64_t> num_dropped_{0};
  std::atomic<std::uint64_t> num_exported_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<FinishedTrace> queue_;   // guarded by mutex_
  std::size_t num_queued_spans_ = 0;  // guarded by mutex_
  std::size_t enough_ = 1;            // guarded by mutex_; what the exporter waits for
  bool hurries_ = false;              // guarded by mutex_
};

// A tracer that never records, for callers that have no other.
Tracer& no_tracer();

}  // namespace kvasir::obs
