#include "base/probation.h"

#include <algorithm>

namespace kvasir::base {

void Probation::begin(TimePoint now) {
  if (!is_out_ || now < until_) return;
  is_tried_ = true;
  until_ = now + options_.longest_trial;
}

void Probation::note_good(TimePoint now) {
  if (is_out_) {
    if (!is_tried_) return;  // the request began before the trial
    is_out_ = is_tried_ = false;
    num_good_ = num_failed_ = in_a_row_ = 0;
    window_ = back_ = now;
    return;
  }
  roll_window(now);
  in_a_row_ = 0;
  ++num_good_;
}

bool Probation::note_failure(TimePoint now, bool spared) {
  if (is_out_) {
    if (!is_tried_) return false;  // the request began before the trial
    put_out(now);
    return true;
  }
  roll_window(now);
  ++in_a_row_;
  ++num_failed_;
  const bool too_often = in_a_row_ >= options_.failures_in_a_row ||
                         (num_failed_ >= options_.least_failures && num_failed_ >= num_good_);
  if (!too_often || spared) return false;
  put_out(now);
  return true;
}

void Probation::note_nothing() {
  if (is_tried_) until_ = {};
  is_tried_ = false;
}

void Probation::put_out(TimePoint now) {
  if (is_out_ && !is_tried_) return;
  if (!is_out_ && now - back_ > options_.forgiven_after) times_ = 0;
  Duration pause = options_.first_pause;
  for (int i = 0; i < times_ && pause < options_.longest_pause; ++i) pause *= 2;
  ++times_;
  is_out_ = true;
  is_tried_ = false;
  until_ = now + std::min(pause, options_.longest_pause);
}

void Probation::roll_window(TimePoint now) {
  if (now - window_ <= options_.window) return;
  num_good_ = num_failed_ = 0;
  window_ = now;
}

}  // namespace kvasir::base
