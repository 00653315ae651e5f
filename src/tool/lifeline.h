#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::tool {

// How long something may go on: until its time has passed, or somebody ends it. On one executor.
class Lifeline {
 public:
  Lifeline(const boost::asio::any_io_executor& executor, base::Duration timeout);
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  bool over() const { return over_; }
  bool timed_out() const { return timed_out_; }
  // Why it is over.
  base::Error error() const;
  // `ended` is called once when it ends, at once where it has. Takes the place of the one before; an empty
  // one is none.
  void on_end(std::function<void()> ended);
  void end();

 private:
  void finish();

  const base::Duration timeout_;
  boost::asio::steady_timer timer_;
  std::function<void()> ended_;
  std::shared_ptr<Lifeline*> alive_;  // null inside once this is gone
  bool over_ = false;
  bool timed_out_ = false;
};

}  // namespace kvasir::tool
