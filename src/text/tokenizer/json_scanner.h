#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvasir::text {

// Finds the end of a JSON object or array in text that comes in pieces, and checks that it is valid, strict
// JSON. The caller checks that it is UTF-8. Used for one stream by one thread.
class JsonScanner {
 public:
  enum class State : std::uint8_t { open, complete, invalid };

  static constexpr std::size_t kMaxDepth = 60;  // less than base::parse_json allows

  // Takes bytes up to the end of the value or up to the first invalid byte. Returns how many it took.
  std::size_t push(std::string_view bytes);
  State state() const { return state_; }

 private:
  enum class Expect : std::uint8_t {
    value,            // a value must come
    value_or_end,     // after '['
    key,              // after ',' in an object
    key_or_end,       // after '{'
    colon,            // after a key
    comma_or_end,     // after a value
    string,           // inside a string
    escape,           // after a backslash
    hex,              // inside \uXXXX
    literal,          // inside true, false, null
    minus,            // after '-'
    zero,             // after a leading 0
    digits,           // in the part before '.'
    point,            // after '.'
    fraction,         // after a digit of the fraction
    exponent,         // after 'e'
    exponent_sign,    // after 'e+'
    exponent_digits,  // after a digit of the exponent
  };

  State step(char c);
  State begin_value(char c);
  State end_value();
  State close(char c);
  State in_number(char c);
  State in_string(char c);

  State state_ = State::open;
  Expect expect_ = Expect::value;
  bool in_key_ = false;
  int num_hex_ = 0;
  std::string_view literal_;    // bytes of the literal that must still come
  std::vector<char> brackets_;  // the open brackets
};

}  // namespace kvasir::text
