#pragma once

#include "base/clock.h"

namespace kvasir::base {

// Whether a peer that fails often may get requests. One that fails some times in a row, or for half of the
// requests of a time, is put out for a pause. Then one request tries it: if that ends well the peer is back,
// otherwise the next pause is twice as long. Only decides; the time is an argument. Touched under its owner's
// lock.
class Probation {
 public:
  struct Options {
    int failures_in_a_row = 3;
    int least_failures = 5;  // in a window, when they are at least half of its requests
    Duration window = std::chrono::seconds(10);
    Duration first_pause = std::chrono::seconds(1);
    Duration longest_pause = std::chrono::seconds(60);
    Duration forgiven_after = std::chrono::seconds(120);  // its return, when the next pause is a first one
    Duration longest_trial = std::chrono::seconds(10);    // that keeps others out
  };
  Probation() : Probation(Options{}) {}
  explicit Probation(Options options) : options_(options) {}

  bool admits(TimePoint now) const { return !is_out_ || now >= until_; }
  bool is_out() const { return is_out_; }

  // A request goes to it: if its pause is over, this is the trial.
  void begin(TimePoint now);
  void note_good(TimePoint now);
  // True if it is put out by that, once more or for the first time. `spared`: it is not, if it is not out.
  bool note_failure(TimePoint now, bool spared = false);
  // The trial said nothing; the next request is another one.
  void note_nothing();
  // For something that one failure is enough to show.
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
  TimePoint until_{};  // of the pause, or of the trial
  TimePoint back_{};   // when it last came back
  int times_ = 0;      // put out, since it was forgiven
};

}  // namespace kvasir::base
