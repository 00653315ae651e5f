#pragma once

#include <cstdint>
#include <string>

#include "grammar/json_schema.h"

namespace kvasir::grammar {

// The output format that a request asks for, as it was written.
struct GrammarSource {
  enum class Kind : std::uint8_t {
    json_object,  // the text is empty
    json_schema,  // the text is the schema, as JSON
    regex,
    ebnf,
    choice,      // a JSON list of strings
    tool_calls,  // the result of `tool_calls_text`
  };
  // Text that may stand before the output: a model's reasoning, which the grammar does not describe.
  enum class Preamble : std::uint8_t {
    none,
    reasoning,       // it may begin with <think>, and then goes up to </think>
    open_reasoning,  // the prompt has opened it, so it goes up to </think>
  };
  Kind kind = Kind::json_object;
  std::string text;
  JsonSchemaOptions json = {};
  Preamble preamble = Preamble::none;
};

}  // namespace kvasir::grammar
