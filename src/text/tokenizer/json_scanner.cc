#include "text/tokenizer/json_scanner.h"

namespace kvasir::text {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

std::size_t JsonScanner::push(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && state_ == State::open) {
    state_ = step(bytes[taken]);
    if (state_ != State::invalid) ++taken;
  }
  return taken;
}

JsonScanner::State JsonScanner::step(char c) {
  switch (expect_) {
    case Expect::string:
    case Expect::escape:
    case Expect::hex:
      return in_string(c);
    case Expect::literal:
      if (c != literal_.front()) return State::invalid;
      literal_.remove_prefix(1);
      return literal_.empty() ? end_value() : State::open;
    case Expect::minus:
    case Expect::zero:
    case Expect::digits:
    case Expect::point:
    case Expect::fraction:
    case Expect::exponent:
    case Expect::exponent_sign:
    case Expect::exponent_digits:
      return in_number(c);
    default:
      break;
  }
  if (is_space(c)) return brackets_.empty() ? State::invalid : State::open;
  switch (expect_) {
    case Expect::value_or_end:
      return c == ']' ? close(c) : begin_value(c);
    case Expect::key_or_end:
      if (c == '}') return close(c);
      [[fallthrough]];
    case Expect::key:
      if (c != '"') return State::invalid;
      in_key_ = true;
      expect_ = Expect::string;
      return State::open;
    case Expect::colon:
      expect_ = Expect::value;
      return c == ':' ? State::open : State::invalid;
    case Expect::comma_or_end:
      if (c != ',') return close(c);
      expect_ = brackets_.back() == '{' ? Expect::key : Expect::value;
      return State::open;
    default:
      return begin_value(c);
  }
}

JsonScanner::State JsonScanner::begin_value(char c) {
  const bool is_container = c == '{' || c == '[';
  if (brackets_.empty() && !is_container) return State::invalid;
  if (is_container) {
    if (brackets_.size() == kMaxDepth) return State::invalid;
    brackets_.push_back(c);
    expect_ = c == '{' ? Expect::key_or_end : Expect::value_or_end;
    return State::open;
  }
  if (c == '"') {
    in_key_ = false;
    expect_ = Expect::string;
    return State::open;
  }
  if (c == '-' || is_digit(c)) {
    expect_ = c == '-' ? Expect::minus : c == '0' ? Expect::zero : Expect::digits;
    return State::open;
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (c != word.front()) continue;
    literal_ = word.substr(1);
    expect_ = Expect::literal;
    return State::open;
  }
  return State::invalid;
}

JsonScanner::State JsonScanner::end_value() {
  expect_ = Expect::comma_or_end;
  return brackets_.empty() ? State::complete : State::open;
}

JsonScanner::State JsonScanner::close(char c) {
  if (brackets_.empty() || c != (brackets_.back() == '{' ? '}' : ']')) return State::invalid;
  brackets_.pop_back();
  return end_value();
}

JsonScanner::State JsonScanner::in_string(char c) {
  if (expect_ == Expect::hex) {
    if (!is_hex(c)) return State::invalid;
    if (--num_hex_ == 0) expect_ = Expect::string;
    return State::open;
  }
  if (expect_ == Expect::escape) {
    expect_ = c == 'u' ? Expect::hex : Expect::string;
    num_hex_ = 4;
    return std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos ? State::invalid : State::open;
  }
  if (static_cast<unsigned char>(c) < 0x20) return State::invalid;
  if (c == '\\') expect_ = Expect::escape;
  if (c != '"') return State::open;
  if (!in_key_) return end_value();
  expect_ = Expect::colon;
  return State::open;
}

JsonScanner::State JsonScanner::in_number(char c) {
  const bool whole = expect_ == Expect::zero || expect_ == Expect::digits;
  const bool may_end = whole || expect_ == Expect::fraction || expect_ == Expect::exponent_digits;
  if (is_digit(c)) {
    if (expect_ == Expect::zero) return State::invalid;
    if (expect_ == Expect::minus) expect_ = c == '0' ? Expect::zero : Expect::digits;
    if (expect_ == Expect::point) expect_ = Expect::fraction;
    if (expect_ == Expect::exponent || expect_ == Expect::exponent_sign) expect_ = Expect::exponent_digits;
    return State::open;
  }
  if (c == '.' && whole) {
    expect_ = Expect::point;
    return State::open;
  }
  if ((c == 'e' || c == 'E') && (whole || expect_ == Expect::fraction)) {
    expect_ = Expect::exponent;
    return State::open;
  }
  if ((c == '+' || c == '-') && expect_ == Expect::exponent) {
    expect_ = Expect::exponent_sign;
    return State::open;
  }
  if (!may_end) return State::invalid;
  // The number has ended before this byte, which belongs to the container.
  const State ended = end_value();
  return ended == State::open ? step(c) : ended;
}

}  // namespace kvasir::text
