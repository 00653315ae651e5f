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

// How certain it is that a text was meant as a call.
enum class CallEvidence {
  marked,      // it follows the family's marker; the name must be declared
  resembling,  // it only looks like a call; the arguments must exist and fit the tool's schema, too
};

// Returns the calls in a JSON value. The value may have any of the usual shapes: an object with a name and
// arguments (or parameters), such an object inside {"function": …}, {"tool_calls": […]}, or a list of these.
// Absent if any part of the value is something else.
std::optional<std::vector<ToolCall>> calls_of_json(const base::json::value& value, const AnswerSyntax& syntax,
                                                   CallEvidence evidence);

// Returns the calls in a Python list such as [f(a=1, b='x'), g()]. Absent if it is something else.
std::optional<std::vector<ToolCall>> calls_of_python(std::string_view text, const AnswerSyntax& syntax);

// Whether a JSON value that begins like this may still become calls of declared tools.
enum class Outlook { open, plausible, hopeless };
Outlook outlook_of(std::string_view beginning, const AnswerSyntax& syntax);

}  // namespace kvasir::text
