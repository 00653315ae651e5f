#include "grammar/number_grammar.h"

#include <algorithm>
#include <string>
#include <vector>

namespace kvasir::grammar {
namespace {

NodeId digit(Grammar& g, char first, char last) {
  return g.bytes(ByteSet::range(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last)));
}
NodeId digits(Grammar& g, std::uint32_t min, std::uint32_t max) {
  return g.repeat(digit(g, '0', '9'), min, max);
}

// A bound on a magnitude.
struct Limit {
  std::string whole;  // "0" for zero, so that its length is that of the written number
  std::string fraction;
  bool excluded = false;
};

// The magnitudes between two limits, without a sign. Either limit may be absent.
class Magnitudes {
 public:
  Magnitudes(Grammar& grammar, std::optional<Limit> low, std::optional<Limit> high, bool whole_only)
      : g_(grammar), low_(std::move(low)), high_(std::move(high)), whole_only_(whole_only) {}

  NodeId node() {
    const std::uint32_t low_length = low_ ? static_cast<std::uint32_t>(low_->whole.size()) : 1;
    const std::uint32_t high_length =
        high_ ? static_cast<std::uint32_t>(high_->whole.size()) : kMaxDigits + 1;
    if (low_length > high_length) return g_.never();
    std::vector<NodeId> ways;
    if (low_length == high_length) {
      ways.push_back(whole_digits(0, low_length, {low_.has_value(), high_.has_value()}));
    } else {
      ways.push_back(whole_digits(0, low_length, {low_.has_value(), false}));
      if (high_length - low_length > 1) {
        const NodeId more = digits(g_, low_length, high_length - 2);
        ways.push_back(g_.sequence({digit(g_, '1', '9'), more, free_fraction()}));
      }
      if (high_) ways.push_back(whole_digits(0, high_length, {false, true}));
    }
    return g_.choice(std::move(ways));
  }

 private:
  // Whether all digits so far equal those of the limit.
  struct Tight {
    bool low;
    bool high;
  };

  NodeId free_fraction() {
    if (whole_only_) return g_.empty();
    return g_.optional(g_.sequence({g_.literal("."), digits(g_, 1, kMaxDigits)}));
  }

  // The ways to write one digit between `first` and `last`, each followed by `rest`.
  template <class Rest>
  NodeId one_digit(char first, char last, Tight tight, Rest rest) {
    if (first > last) return g_.never();
    if (!tight.low && !tight.high) return g_.sequence({digit(g_, first, last), rest(tight)});
    if (first == last) return g_.sequence({digit(g_, first, first), rest(tight)});
    std::vector<NodeId> ways;
    if (tight.low) {
      ways.push_back(g_.sequence({digit(g_, first, first), rest({true, false})}));
      ++first;
    }
    if (tight.high) {
      ways.push_back(g_.sequence({digit(g_, last, last), rest({false, true})}));
      --last;
    }
    if (first <= last) ways.push_back(g_.sequence({digit(g_, first, last), rest({false, false})}));
    return g_.choice(std::move(ways));
  }

  NodeId whole_digits(std::uint32_t at, std::uint32_t length, Tight tight) {
    if (at == length) return fraction(tight);
    if (!tight.low && !tight.high && at > 0) {
      return g_.sequence({digits(g_, length - at, length - at), free_fraction()});
    }
    const char lowest = at == 0 && length > 1 ? '1' : '0';
    const char first = tight.low ? low_->whole[at] : lowest;
    const char last = tight.high ? high_->whole[at] : '9';
    return one_digit(first, last, tight, [&](Tight next) { return whole_digits(at + 1, length, next); });
  }

  // After the integer digits: nothing, or a point and digits.
  NodeId fraction(Tight tight) {
    std::vector<NodeId> ways;
    const bool low_ok = !tight.low || (low_->fraction.empty() && !low_->excluded);
    const bool high_ok = !tight.high || !high_->fraction.empty() || !high_->excluded;
    if (low_ok && high_ok) ways.push_back(g_.empty());
    if (!whole_only_) ways.push_back(g_.sequence({g_.literal("."), fraction_digits(0, tight)}));
    return g_.choice(std::move(ways));
  }

  // The digits of the fraction from number `at` on: at least one if `at` is 0.
  NodeId fraction_digits(std::uint32_t at, Tight tight) {
    const std::uint32_t least = at == 0 ? 1 : 0;
    if (at >= kMaxDigits) return g_.never();
    const bool low_over = !tight.low || at >= low_->fraction.size();
    const bool high_over = !tight.high || at >= high_->fraction.size();
    if (low_over && high_over) {
      if (tight.high) {  // equal to the upper limit, so only zeros may follow
        const bool met = !high_->excluded && !(tight.low && low_->excluded);
        return met ? g_.repeat(g_.literal("0"), least, kMaxDigits - at) : g_.never();
      }
      const NodeId rest = digits(g_, 0, kMaxDigits);
      if (!tight.low || !low_->excluded) return digits(g_, least, kMaxDigits - at);
      return g_.sequence({g_.repeat(g_.literal("0"), 0, kMaxDigits), digit(g_, '1', '9'), rest});
    }
    const char first = tight.low && at < low_->fraction.size() ? low_->fraction[at] : '0';
    const char last = !tight.high ? '9' : at < high_->fraction.size() ? high_->fraction[at] : '0';
    const NodeId more =
        one_digit(first, last, tight, [&](Tight next) { return fraction_digits(at + 1, next); });
    // The number may end here if the remaining digits of the lower limit are zeros.
    const bool low_met = !tight.low || (low_over && !low_->excluded);
    if (at > 0 && low_met) return g_.optional(more);
    return more;
  }

  Grammar& g_;
  std::optional<Limit> low_;
  std::optional<Limit> high_;
  bool whole_only_;
};

Limit limit_of(const Decimal& d, bool excluded) {
  return {d.whole.empty() ? "0" : d.whole, d.fraction, excluded};
}

NodeId bounded_node(Grammar& g, const NumberBounds& bounds, bool whole_only) {
  const Decimal zero;
  std::vector<NodeId> ways;
  const bool any_negative = !bounds.min || *bounds.min < zero;
  const bool any_positive =
      !bounds.max || *bounds.max > zero || (*bounds.max == zero && !bounds.max_excluded);
  if (any_positive) {
    std::optional<Limit> low;
    std::optional<Limit> high;
    if (bounds.min && *bounds.min >= zero) low = limit_of(*bounds.min, bounds.min_excluded);
    if (bounds.max) high = limit_of(*bounds.max, bounds.max_excluded);
    ways.push_back(Magnitudes(g, std::move(low), std::move(high), whole_only).node());
  }
  if (any_negative) {  // never "-0": the magnitude is over 0
    Limit low{"0", "", true};
    std::optional<Limit> high;
    if (bounds.max && *bounds.max < zero) low = limit_of(bounds.max->abs(), bounds.max_excluded);
    if (bounds.min) high = limit_of(bounds.min->abs(), bounds.min_excluded);
    if (whole_only && low.excluded) low = {"1", "", false};
    const NodeId magnitude = Magnitudes(g, std::move(low), std::move(high), whole_only).node();
    ways.push_back(g.sequence({g.literal("-"), magnitude}));
  }
  return g.choice(std::move(ways));
}

}  // namespace

NodeId integer_node(Grammar& g) {
  const NodeId magnitude =
      g.choice({g.literal("0"), g.sequence({digit(g, '1', '9'), digits(g, 0, kMaxDigits - 1)})});
  return g.sequence({g.optional(g.literal("-")), magnitude});
}

NodeId number_node(Grammar& g) {
  ByteSet e;
  e.add('e');
  e.add('E');
  ByteSet sign;
  sign.add('+');
  sign.add('-');
  const NodeId fraction = g.sequence({g.literal("."), digits(g, 1, kMaxDigits)});
  const NodeId exponent = g.sequence({g.bytes(e), g.optional(g.bytes(sign)), digits(g, 1, 2)});
  return g.sequence({integer_node(g), g.optional(fraction), g.optional(exponent)});
}

NodeId bounded_integer_node(Grammar& grammar, const NumberBounds& bounds) {
  NumberBounds whole;
  if (bounds.min) {
    whole.min = bounds.min->ceil();
    if (bounds.min_excluded && bounds.min->is_whole()) whole.min = whole.min->plus_one();
  }
  if (bounds.max) {
    whole.max = bounds.max->floor();
    if (bounds.max_excluded && bounds.max->is_whole()) whole.max = whole.max->minus_one();
  }
  return bounded_node(grammar, whole, true);
}

NodeId bounded_number_node(Grammar& grammar, const NumberBounds& bounds) {
  return bounded_node(grammar, bounds, false);
}

namespace {

// Rules that track the remainder of the digits so far: one for each remainder and each number of digits after
// the point.
class Remainders {
 public:
  Remainders(Grammar& grammar, std::uint32_t modulus, std::size_t num_places)
      : g_(grammar), modulus_(modulus), num_places_(num_places) {
    for (std::size_t i = 0; i < (num_places + 1) * modulus; ++i) rules_.push_back(g_.add_rule("multiple"));
    std::uint32_t scale = 1 % modulus;  // the power of ten for the missing places
    for (std::size_t place = num_places + 1; place-- > 0; scale = scale * 10 % modulus) {
      for (std::uint32_t r = 0; r < modulus && !g_.full(); ++r) define(place, r, r * scale % modulus == 0);
    }
  }

  // One digit from `first` to 9, and any digits that complete it to a multiple.
  NodeId digits(std::size_t place, std::uint32_t remainder, char first) {
    std::vector<NodeId> ways;
    for (char d = first; d <= '9'; ++d) {
      const std::uint32_t to = (remainder * 10 + static_cast<std::uint32_t>(d - '0')) % modulus_;
      ways.push_back(g_.sequence({g_.literal({&d, 1}), g_.reference(rules_[place * modulus_ + to])}));
    }
    return g_.choice(std::move(ways));
  }

 private:
  void define(std::size_t place, std::uint32_t r, bool is_multiple) {
    std::vector<NodeId> ways;
    if (is_multiple) ways.push_back(g_.empty());
    if (place == 0) ways.push_back(digits(0, r, '0'));
    if (place == 0 && num_places_ > 0) ways.push_back(g_.sequence({g_.literal("."), digits(1, r, '0')}));
    if (place > 0 && place < num_places_) ways.push_back(digits(place + 1, r, '0'));
    g_.define(rules_[place * modulus_ + r], g_.choice(std::move(ways)));
  }

  Grammar& g_;
  std::uint32_t modulus_;
  std::size_t num_places_;
  std::vector<RuleId> rules_;
};

}  // namespace

std::optional<NodeId> multiple_node(Grammar& g, const Decimal& factor, const NumberBounds& bounds) {
  constexpr std::uint32_t kMaxFactor = 2000;
  const std::string scaled = factor.whole + factor.fraction;
  const std::size_t num_places = factor.fraction.size();
  if (scaled.size() > 9 || num_places > 6 || bounds.max) return std::nullopt;
  const auto modulus = static_cast<std::uint32_t>(std::stoul(scaled));
  if (modulus == 0 || modulus > kMaxFactor) return std::nullopt;
  const bool positive = bounds.min.has_value();
  if (positive && bounds.min->negative) return std::nullopt;
  const bool zero_excluded = positive && (bounds.min_excluded || !bounds.min->is_zero());
  if (positive && !bounds.min->is_zero() && (*bounds.min > factor || bounds.min_excluded))
    return std::nullopt;
  if (zero_excluded && num_places > 0) return std::nullopt;  // 0.00 and 0.05 could not be distinguished

  Remainders remainders(g, modulus, num_places);
  NodeId nonzero = remainders.digits(0, 0, '1');
  if (!positive) nonzero = g.sequence({g.optional(g.literal("-")), nonzero});
  if (zero_excluded) return nonzero;
  NodeId zero = g.literal("0");
  if (num_places > 0) {
    const NodeId fraction = g.sequence({g.literal("."), remainders.digits(1, 0, '0')});
    zero = g.sequence({zero, g.optional(fraction)});
  }
  return g.choice({nonzero, zero});
}

std::optional<std::vector<std::string>> multiples_between(const Decimal& factor, const NumberBounds& bounds) {
  constexpr std::int64_t kMaxValues = 2000;
  if (!bounds.min || !bounds.max || !factor.is_whole() || factor.whole.size() > 15) return std::nullopt;
  const auto number = [](const Decimal& d) { return std::stoll((d.negative ? "-0" : "0") + d.whole); };
  Decimal low = bounds.min->ceil();
  if (bounds.min_excluded && bounds.min->is_whole()) low = low.plus_one();
  Decimal high = bounds.max->floor();
  if (bounds.max_excluded && bounds.max->is_whole()) high = high.minus_one();
  if (low.whole.size() > 15 || high.whole.size() > 15) return std::nullopt;
  const std::int64_t step = number(factor);
  const std::int64_t last = number(high);
  std::int64_t value = number(low);
  if (const std::int64_t over = value % step; over != 0) value += over > 0 ? step - over : -over;
  if ((last - value) / step >= kMaxValues) return std::nullopt;
  std::vector<std::string> out;
  for (; value <= last; value += step) out.push_back(std::to_string(value));
  return out;
}

}  // namespace kvasir::grammar
