#include "text/answer/enforced_calls.h"

namespace kvasir::text {

EnforcedCalls::EnforcedCalls(const CallText& text)
    : text_(text), left_(std::string(text.begin) + std::string(text.before_name)) {}

EnforcedCalls::Found EnforcedCalls::push(char byte) {
  switch (phase_) {
    case Phase::frame:
      return frame_byte(byte, Phase::name);
    case Phase::name:
      if (byte != text_.after_name.front()) {
        name_ += byte;
        return Found::nothing;
      }
      expect(Phase::after_name, text_.after_name);
      (void)frame_byte(byte, Phase::arguments);
      return Found::name;
    case Phase::after_name:
      return frame_byte(byte, Phase::arguments);
    case Phase::arguments:
      scanner_.push({&byte, 1});
      if (scanner_.state() == JsonScanner::State::invalid) break;
      if (scanner_.state() == JsonScanner::State::complete) {
        has_call_ = true;
        expect(Phase::after, text_.after);
      }
      return Found::arguments;
    case Phase::after:
      return frame_byte(byte, Phase::next);
    case Phase::next:
      return choose_next(byte);
    case Phase::end:
      return frame_byte(byte, Phase::done);
    case Phase::done:
    case Phase::stray:
      break;
  }
  phase_ = Phase::stray;
  return Found::stray;
}

bool EnforcedCalls::is_between_calls() const {
  if (!has_call_) return false;
  if (phase_ == Phase::frame) return left_.size() >= text_.before_name.size();
  return phase_ == Phase::after || phase_ == Phase::next || phase_ == Phase::end || phase_ == Phase::done;
}

void EnforcedCalls::expect(Phase phase, std::string_view literal) {
  phase_ = phase;
  left_ = literal;
}

EnforcedCalls::Found EnforcedCalls::frame_byte(char byte, Phase then) {
  if (left_.empty() || left_.front() != byte) {
    phase_ = Phase::stray;
    return Found::stray;
  }
  left_.erase(0, 1);
  if (!left_.empty()) return Found::nothing;
  phase_ = then;
  if (then == Phase::name) name_.clear();
  if (then == Phase::arguments) scanner_ = {};
  return Found::nothing;
}

EnforcedCalls::Found EnforcedCalls::choose_next(char byte) {
  if (!text_.end.empty() && byte == text_.end.front()) {
    expect(Phase::end, text_.end);
    return frame_byte(byte, Phase::done);
  }
  expect(Phase::frame, text_.separator);
  left_ += text_.before_name;
  return frame_byte(byte, Phase::name);
}

}  // namespace kvasir::text
