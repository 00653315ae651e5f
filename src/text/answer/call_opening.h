#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/answer/tool_call.h"

namespace kvasir::text {

// Whether more text may come. If it may, the parser waits before it decides about an ambiguous text.
enum class More { may_come, none };

// The text before the JSON of a call.
struct CallOpening {
  enum class Kind {
    none,     // the text begins with something else
    wait,     // undecided until more text has come
    json,     // a value that names its tool
    named,    // the arguments of `name`
    python,   // a list of calls in Python's syntax
    ignored,  // a marker without meaning
  };
  Kind kind = Kind::none;
  std::size_t length = 0;  // bytes of the text before the value, or of the marker
  CallEvidence evidence = CallEvidence::resembling;
  std::string name = {};
  bool fenced = false;
};

enum class Place { line_start, within_line };

// Returns the opening of a call that `text` begins with. Requires that no call is open.
CallOpening opening_of(std::string_view text, const AnswerSyntax& syntax, Place place, More more);

// Returns the length of the text after a call that belongs to the call: 0 if there is none, and npos if that
// depends on text that has not come yet.
std::size_t trailer_length(std::string_view text, const AnswerSyntax& syntax, More more);

}  // namespace kvasir::text
