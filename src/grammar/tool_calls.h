#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_schema.h"

namespace kvasir::grammar {

// Answers that call functions, in the syntax of one model family:
//   begin before_name NAME after_name ARGUMENTS after [separator before_name NAME …] end
struct ToolCallText {
  std::string begin;
  std::string before_name;
  std::string after_name;
  std::string after;
  std::string separator;
  std::string end;
  // If it is not empty, text may come first or be the whole answer. Calls begin at the first occurrence of
  // the trigger; `begin` followed by `before_name` begins with it.
  std::string trigger;
};

struct ToolCallGrammar {
  struct Tool {
    std::string name;
    base::json::value schema;  // of the arguments
    // True: a schema that cannot be enforced is an error. False: the arguments are then any object.
    bool strict = false;
    // If `lark` is not empty, it is a Lark grammar of the one argument, `lark_argument`, and replaces the
    // schema. The field of an error in it is "!" and then `lark_field` as it is.
    std::string lark = {};
    std::string lark_argument = {};
    std::string lark_field = {};
  };
  ToolCallText text;
  std::vector<Tool> tools;
  std::uint32_t max_calls = 1;
  base::json::value otherwise;  // if not null, the schema of an answer without calls
};

// Serializes the calls for a GrammarSource.
std::string tool_calls_text(const ToolCallGrammar& calls);
// The field of an error begins with the tool's index, "[1]/properties/x", or is that of a Lark grammar.
base::Result<Grammar> grammar_of_tool_calls(std::string_view text, JsonSchemaOptions options);

}  // namespace kvasir::grammar
