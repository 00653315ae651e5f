#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "meter/meter.h"
#include "tenancy/caller.h"
#include "wire/token_event.h"

namespace kvasir::api {

// A record on its way to the disk.
class Commit {
 public:
  // Returns once the record is on the disk, and after a bounded time where the disk is slow: the record is
  // written all the same. On the executor that it was made for; once.
  boost::asio::awaitable<void> wait() const;

 private:
  friend class RequestMeter;
  struct State;
  std::shared_ptr<State> state_;  // null: there is nothing to wait for
};

// What one request uses, from its arrival to its end. Shared by all that works for the request, on its
// executor. Its record is written once, by `close` or else by the destructor: so it is written however the
// request ends. A request for which nothing began has none.
class RequestMeter {
 public:
  struct Surroundings {
    meter::Meter& meter;
    const base::Clock& clock;
    base::Duration max_commit_wait;
  };
  // `record` says who asks for what.
  RequestMeter(Surroundings surroundings, const tenancy::Caller& caller, meter::UsageRecord record);
  ~RequestMeter();
  RequestMeter(const RequestMeter&) = delete;
  RequestMeter& operator=(const RequestMeter&) = delete;

  // Something runs for the request from now on.
  void begin(const std::string& model);
  void note_token();
  // What a part of the request used, and how it ended. The last part's end is the request's.
  void add(const wire::Usage& usage, meter::Finish finish);
  // `finish` where the request did not end as its last part did.
  Commit close(std::optional<meter::Finish> finish, const boost::asio::any_io_executor& executor);

 private:
  void write(meter::Done done);

  meter::Meter& meter_;
  const base::Clock& clock_;
  const base::Duration max_commit_wait_;
  const std::shared_ptr<const tenancy::Tier> tier_;
  const base::TimePoint started_;
  meter::UsageRecord record_;
  bool begun_ = false;
  bool written_ = false;
};

}  // namespace kvasir::api
