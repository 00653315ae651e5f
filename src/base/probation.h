#pragma once

#include "base/clock.h"

namespace kvasir::base {

// Decides whether a peer that fails often may get requests. A peer that fails several times in a row, or for
// half of the requests in a window, is put out for a pause. Then one request tries it: if that succeeds, the
// peer is back; otherwise the next pause is twice as long. The time is an argument. Touched under its owner's
// lock.
class Probation {
 public:
  struct Options {
    int failures_in_a_row = 3;
    int least_failures = 5;  // puts it out if reached in a window, and at least half of its requests
    Duration window = std::chrono::seconds(10);
    Duration first_pause = std::chrono::seconds(1);
    Duration longest_pause = std::chrono::seconds(60);
    Duration forgiven_after = std::chrono::seconds(120);  // since its return; then pauses start short
    Duration longest_trial = std::chrono::seconds(10);    // a trial keeps others out at most so long
  };
  Probation() : Probation(Options{}) {}
  explicit Probation(Options options) : options_(options) {}

  bool admits(TimePoint now) const { return !is_out_ || now >= until_; }
  bool is_out() const { return is_out_; }

  // A request is sent to the peer. If its pause is over, this request is the trial.
  void begin(TimePoint now);
  void note_good(TimePoint now);
  // True if this failure puts the peer out, again or for the first time. If `spared`, a failure does not put
  // out a peer that is in.
  bool note_failure(TimePoint now, bool spared = false);
  // The trial showed nothing; the next request is a new trial.
  void note_nothing();
  // Puts the peer out after a single failure that is certain proof.
  void put_out(TimePoint now);

 private:
  void roll_window(TimePoint now);

  Options options_;
  int in_a_row_ = 0;
  int num_good_ = 0;    // in the window
  int num_failed_ = 0;  // in the window
  TimePoint window_{};
  bool is_out_ = false;
  bool is_tried_ = false;
  TimePoint until_{};  // end of the pause or of the trial
  TimePoint back_{};   // time of its last return
  int times_ = 0;      // how often it was put out since it was last forgiven
};

}  // namespace kvasir::base
