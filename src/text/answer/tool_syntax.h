#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace kvasir::text {

// How a family of models writes a call of a function.
enum class ToolSyntax : std::uint8_t {
  hermes,    // <tool_call>{"name": …, "arguments": {…}}</tool_call>; Qwen, Hermes, and models with no way of
             // their own
  llama,     // {"name": …, "parameters": {…}}, perhaps after <|python_tag|>
  pythonic,  // [f(a=1), g(b="x")]
  mistral,   // [TOOL_CALLS][{"name": …, "arguments": {…}}], or [TOOL_CALLS]f[ARGS]{…}
  deepseek,  // <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f, and the arguments in a
             // fence
};

// The exact text of calls in a syntax, for those who make the model write them:
//   begin before_name NAME after_name ARGUMENTS after [separator before_name …] end
struct CallText {
  std::string_view begin;
  std::string_view before_name;
  std::string_view after_name;
  std::string_view after;
  std::string_view separator;
  std::string_view end;
  std::string_view trigger;  // what no other text of an answer holds; empty: there is no such thing
};

// The syntax that a model's Jinja template teaches; hermes where it teaches none.
ToolSyntax tool_syntax_of(std::string_view chat_template);
const CallText& call_text(ToolSyntax syntax);
// Tokens that are special to the tokenizer and text to whoever looks for calls.
std::span<const std::string_view> special_markers(ToolSyntax syntax);

// Whether the template itself tells the model of its tools.
bool template_takes_tools(std::string_view chat_template);
// What to tell a model whose template does not.
std::string tool_instructions(const base::json::array& tools);

// Whether the template knows reasoning in <think> tags.
bool template_has_reasoning(std::string_view chat_template);

// What to look for in an answer. Immutable, shared by all choices of a request.
struct AnswerSyntax {
  struct Tool {
    std::string name;
    std::function<bool(const base::json::value& arguments)> fits;
  };
  enum class Calls : std::uint8_t {
    none,
    looked_for,     // wherever the text looks like one
    after_trigger,  // the same; after the trigger a grammar enforces the exact text
    required,       // a grammar enforces the exact text from the beginning
  };
  enum class Reasoning : std::uint8_t {
    none,
    tagged,  // may begin with <think>
    open,    // the prompt has opened it
  };

  Calls calls = Calls::none;
  Reasoning reasoning = Reasoning::none;
  ToolSyntax syntax = ToolSyntax::hermes;
  std::vector<Tool> tools;

  const Tool* find(std::string_view name) const;
};

}  // namespace kvasir::text
