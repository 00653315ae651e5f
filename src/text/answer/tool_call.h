#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/answer/tool_syntax.h"

namespace kvasir::text {

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON object
  bool operator==(const ToolCall&) const = default;
};

// How sure it is that a text means to be a call.
enum class CallEvidence {
  marked,      // it stands after the family's own marker: the name must be declared
  resembling,  // it only looks like one: the arguments must be there and fit the tool's schema too
};

// The calls that a JSON value spells, in any of the shapes in use: an object with a name and arguments (or
// parameters), one inside {"function": …}, {"tool_calls": […]}, or a list of these. None where any part of it
// is something else.
std::optional<std::vector<ToolCall>> calls_of_json(const base::json::value& value, const AnswerSyntax& syntax,
                                                   CallEvidence evidence);

// The calls of a list as Python writes it: [f(a=1, b='x'), g()].
std::optional<std::vector<ToolCall>> calls_of_python(std::string_view text, const AnswerSyntax& syntax);

// What the beginning of a JSON value tells: whether it may still become calls of declared tools.
enum class Outlook { open, plausible, hopeless };
Outlook outlook_of(std::string_view beginning, const AnswerSyntax& syntax);

}  // namespace kvasir::text
