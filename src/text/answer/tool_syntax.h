#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace kvasir::text {

// How a family of models writes function calls.
enum class ToolSyntax : std::uint8_t {
  hermes,    // <tool_call>{"name": …, "arguments": {…}}</tool_call>; Qwen, Hermes, and models with no way of
             // their own
  llama,     // {"name": …, "parameters": {…}}, perhaps after <|python_tag|>
  pythonic,  // [f(a=1), g(b="x")]
  mistral,   // [TOOL_CALLS][{"name": …, "arguments": {…}}], or [TOOL_CALLS]f[ARGS]{…}
  deepseek,  // <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f, and the arguments in a
             // fence
};

// The exact text of calls in a syntax, for code that makes the model write them:
//   begin before_name NAME after_name ARGUMENTS after [separator before_name …] end
struct CallText {
  std::string_view begin;
  std::string_view before_name;
  std::string_view after_name;
  std::string_view after;
  std::string_view separator;
  std::string_view end;
  std::string_view trigger;  // a text that occurs only in calls; empty: there is none
};

// Returns the syntax that a model's Jinja template uses; hermes if it shows none.
ToolSyntax tool_syntax_of(std::string_view chat_template);
const CallText& call_text(ToolSyntax syntax);
// The tokens that are special to the tokenizer but text to the call parser.
std::span<const std::string_view> special_markers(ToolSyntax syntax);

// Whether the template itself lists the tools for the model.
bool template_takes_tools(std::string_view chat_template);
// Instructions for a model whose template does not list tools.
std::string tool_instructions(const base::json::array& tools);

// Whether the template supports reasoning in <think> tags.
bool template_has_reasoning(std::string_view chat_template);

// How to parse an answer. Immutable; all choices of a request share it.
struct AnswerSyntax {
  struct Tool {
    std::string name;
    std::function<bool(const base::json::value& arguments)> fits;
  };
  enum class Calls : std::uint8_t {
    none,
    looked_for,     // wherever the text looks like one
    after_trigger,  // as looked_for, but a grammar enforces the text after the trigger
    required,       // a grammar enforces the exact text from the beginning
  };
  enum class Reasoning : std::uint8_t {
    none,
    tagged,  // may begin with <think>
    open,    // the prompt has already opened it
  };

  Calls calls = Calls::none;
  Reasoning reasoning = Reasoning::none;
  ToolSyntax syntax = ToolSyntax::hermes;
  std::vector<Tool> tools;

  const Tool* find(std::string_view name) const;
};

}  // namespace kvasir::text
