#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_schema.h"

namespace kvasir::grammar {

// Answers that call functions, as one model family writes them:
//   begin before_name NAME after_name ARGUMENTS after [separator before_name NAME …] end
struct ToolCallText {
  std::string begin;
  std::string before_name;
  std::string after_name;
  std::string after;
  std::string separator;
  std::string end;
  // Where it is not empty, text may come first, or be all. The calls begin at the first place that spells it;
  // `begin` and `before_name` together begin with it.
  std::string trigger;
};

struct ToolCallGrammar {
  struct Tool {
    std::string name;
    base::json::value schema;  // of the arguments
    // Arguments that fit the schema, or an error. Otherwise a schema that cannot be enforced is any object.
    bool strict = false;
  };
  ToolCallText text;
  std::vector<Tool> tools;
  std::uint32_t max_calls = 1;
  base::json::value otherwise;  // not null: the schema of an answer that calls nothing
};

// As a GrammarSource carries it, and back.
std::string tool_calls_text(const ToolCallGrammar& calls);
// An error's field begins with the number of the tool: "[1]/properties/x".
base::Result<Grammar> grammar_of_tool_calls(std::string_view text, JsonSchemaOptions options);

}  // namespace kvasir::grammar
