#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::tool {

// Limits how long something may run: until a timeout, or until `end` is called. Used on one executor only.
class Lifeline {
 public:
  Lifeline(const boost::asio::any_io_executor& executor, base::Duration timeout);
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  bool over() const { return over_; }
  bool timed_out() const { return timed_out_; }
  // The error says why this has ended.
  base::Error error() const;
  // Calls `ended` once when this ends, or at once if this has ended already. Replaces the previous function;
  // an empty one removes it.
  void on_end(std::function<void()> ended);
  void end();

 private:
  void finish();

  const base::Duration timeout_;
  boost::asio::steady_timer timer_;
  std::function<void()> ended_;
  std::shared_ptr<Lifeline*> alive_;  // holds null once this object is gone
  bool over_ = false;
  bool timed_out_ = false;
};

}  // namespace kvasir::tool
