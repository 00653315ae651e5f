#include "grammar/decimal.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace kvasir::grammar {
namespace {

constexpr int kMaxExponent = 60;

std::strong_ordering compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() <=> b.whole.size();
  if (const int c = a.whole.compare(b.whole); c != 0) return c <=> 0;
  return a.fraction.compare(b.fraction) <=> 0;  // there are no trailing zeros, so a prefix is smaller
}

// The next whole number, for digits without a sign.
std::string next_whole(std::string digits) {
  std::size_t i = digits.size();
  while (i > 0 && digits[i - 1] == '9') digits[--i] = '0';
  if (i == 0) return "1" + digits;
  ++digits[i - 1];
  return digits;
}

std::string previous_whole(std::string digits) {
  std::size_t i = digits.size();
  while (i > 0 && digits[i - 1] == '0') digits[--i] = '9';
  --digits[i - 1];
  return digits[0] == '0' ? digits.substr(1) : digits;
}

}  // namespace

std::optional<Decimal> Decimal::of(const base::json::value& value) {
  std::string text;
  if (const auto* i = value.if_int64()) {
    text = fmt::format("{}", *i);
  } else if (const auto* u = value.if_uint64()) {
    text = fmt::format("{}", *u);
  } else if (const auto* d = value.if_double()) {
    text = fmt::format("{}", *d);
  } else {
    return std::nullopt;
  }
  Decimal out;
  std::string_view rest = text;
  if (rest.starts_with('-')) {
    out.negative = true;
    rest.remove_prefix(1);
  }
  int exponent = 0;
  if (const std::size_t e = rest.find('e'); e != std::string_view::npos) {
    std::string_view digits = rest.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    rest = rest.substr(0, e);
  }
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
  const std::size_t point = std::min(rest.find('.'), rest.size());
  out.whole = rest.substr(0, point);
  if (point < rest.size()) out.fraction = rest.substr(point + 1);
  for (; exponent > 0; --exponent) {
    out.whole += out.fraction.empty() ? '0' : out.fraction[0];
    if (!out.fraction.empty()) out.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    out.fraction.insert(out.fraction.begin(), out.whole.empty() ? '0' : out.whole.back());
    if (!out.whole.empty()) out.whole.pop_back();
  }
  out.whole.erase(0, std::min(out.whole.find_first_not_of('0'), out.whole.size()));
  while (out.fraction.ends_with('0')) out.fraction.pop_back();
  if (out.is_zero()) out.negative = false;
  return out;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative != other.negative)
    return negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return negative ? compare_magnitudes(other, *this) : compare_magnitudes(*this, other);
}

Decimal Decimal::ceil() const {
  if (is_whole()) return *this;
  Decimal out{negative, whole, ""};
  if (!negative) out.whole = next_whole(whole);
  if (out.is_zero()) out.negative = false;
  return out;
}

Decimal Decimal::floor() const {
  if (is_whole()) return *this;
  return {negative, negative ? next_whole(whole) : whole, ""};
}

Decimal Decimal::plus_one() const {
  if (!negative) return {false, next_whole(whole), ""};
  Decimal out{true, previous_whole(whole), ""};
  if (out.is_zero()) out.negative = false;
  return out;
}

Decimal Decimal::minus_one() const {
  if (negative || is_zero()) return {true, next_whole(whole), ""};
  return {false, previous_whole(whole), ""};
}

}  // namespace kvasir::grammar
