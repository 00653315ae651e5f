#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/http/service/api_metrics.h"
#include "api/http/service/promise.h"
#include "api/http/service/request_trace.h"
#include "base/clock.h"
#include "meter/meter.h"
#include "tenancy/caller.h"
#include "wire/token_event.h"

namespace kvasir::api {

// A usage record that is being written to the disk.
class Commit {
 public:
  // Returns when the record is on the disk, or after a bounded time if the disk is slow; a slow record is
  // written all the same. Call it once, on the executor that `close` was given.
  boost::asio::awaitable<void> wait() const;

 private:
  friend class RequestMeter;
  struct State;
  std::shared_ptr<State> state_;  // null: there is nothing to wait for
};

// Sums up the usage of one request, from its arrival to its end. Shared by everything that works for the
// request, on its executor. Invariant: the record is written exactly once, by `close` or else by the
// destructor, however the request ends. A request that was refused has no record.
class RequestMeter {
 public:
  struct Surroundings {
    meter::Meter& meter;
    ApiMetrics& metrics;
    const base::Clock& clock;
    base::Duration max_commit_wait;
    std::shared_ptr<RequestTrace> trace = nullptr;  // null: a trace that is not recorded
  };
  // `record` names the request and its endpoint.
  RequestMeter(Surroundings surroundings, const tenancy::Caller& caller, meter::UsageRecord record);
  ~RequestMeter();
  RequestMeter(const RequestMeter&) = delete;
  RequestMeter& operator=(const RequestMeter&) = delete;

  const std::shared_ptr<RequestTrace>& trace() const { return trace_; }

  // Called when the request, or a part of it, was admitted and begins to run. Only the first promise counts.
  void begin(const std::string& model, const Promise& promise = {});
  void note_token();
  // Records the time between two tokens.
  void note_gap(double seconds);
  // Records the mean time between the tokens of a part's slowest choice.
  void note_pace(double seconds_per_token);
  // Adds the usage of one part of the request. The request's finish is that of its last part.
  void add(const wire::Usage& usage, meter::Finish finish);
  // Writes the record. `finish` is given if it differs from that of the last part.
  Commit close(std::optional<meter::Finish> finish, const boost::asio::any_io_executor& executor);

 private:
  bool write(meter::Done done, meter::Wake wake);
  // Counts the request for its tier's goodput, if it had a promise. A request whose client left is not
  // counted.
  void judge() const;
  // Records in the trace, which the log reads too, how the request ended.
  void note_ending() const;
  // Adds the request to the metrics of its class. Summaries are parts of requests, so they are left out.
  void count() const;

  meter::Meter& meter_;
  ApiMetrics& metrics_;
  const base::Clock& clock_;
  const base::Duration max_commit_wait_;
  const std::shared_ptr<RequestTrace> trace_;  // never null
  const std::shared_ptr<const tenancy::Tier> tier_;
  const base::TimePoint started_;  // when the body had been read, before its text was tokenized
  meter::UsageRecord record_;
  Promise promise_;
  ClassMetrics* class_ = nullptr;  // null before `begin`
  std::optional<base::TimePoint> first_token_;
  double slowest_s_ = 0;  // seconds per token, the maximum of all parts
  bool begun_ = false;
  bool written_ = false;
};

}  // namespace kvasir::api
