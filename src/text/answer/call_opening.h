#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/answer/tool_call.h"

namespace kvasir::text {

// Whether more text may come: where it may, what is undecided waits.
enum class More { may_come, none };

// What stands before the JSON of a call.
struct CallOpening {
  enum class Kind {
    none,     // the text begins with something else
    wait,     // it depends on what comes
    json,     // a value that names its tool
    named,    // the arguments of `name`
    python,   // a list of calls in Python's way
    ignored,  // a marker that says nothing by itself
  };
  Kind kind = Kind::none;
  std::size_t length = 0;  // of the text before the value; of the marker
  CallEvidence evidence = CallEvidence::resembling;
  std::string name = {};
  bool fenced = false;
};

enum class Place { line_start, within_line };

// What a text begins with that comes where no call has been opened yet.
CallOpening opening_of(std::string_view text, const AnswerSyntax& syntax, Place place, More more);

// What may stand after a call and belongs to it. 0: nothing; npos: it depends on what comes.
std::size_t trailer_length(std::string_view text, const AnswerSyntax& syntax, More more);

}  // namespace kvasir::text
