#include "text/answer/tool_syntax.h"

#include <algorithm>
#include <array>

namespace kvasir::text {
namespace {

constexpr CallText kHermes = {.begin = "",
                              .before_name = "<tool_call>\n{\"name\": \"",
                              .after_name = "\", \"arguments\": ",
                              .after = "}\n</tool_call>",
                              .separator = "\n",
                              .end = "",
                              .trigger = "<tool_call>"};
// At most one call per answer, since the releases of Llama separate several calls differently.
constexpr CallText kLlama = {.begin = "",
                             .before_name = "{\"name\": \"",
                             .after_name = "\", \"parameters\": ",
                             .after = "}",
                             .separator = "; ",
                             .end = "",
                             .trigger = ""};
constexpr CallText kMistral = {.begin = "[TOOL_CALLS][",
                               .before_name = "{\"name\": \"",
                               .after_name = "\", \"arguments\": ",
                               .after = "}",
                               .separator = ", ",
                               .end = "]",
                               .trigger = ""};
constexpr CallText kDeepseek = {.begin = "<｜tool▁calls▁begin｜>",
                                .before_name = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                                .after_name = "\n```json\n",
                                .after = "\n```<｜tool▁call▁end｜>",
                                .separator = "\n",
                                .end = "<｜tool▁calls▁end｜>",
                                .trigger = "<｜tool▁calls▁begin｜>"};

constexpr std::array<std::string_view, 2> kHermesMarkers{"<tool_call>", "</tool_call>"};
constexpr std::array<std::string_view, 3> kLlamaMarkers{"<|python_tag|>", "<|python_start|>",
                                                        "<|python_end|>"};
constexpr std::array<std::string_view, 3> kMistralMarkers{"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};
constexpr std::array<std::string_view, 5> kDeepseekMarkers{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
                                                           "<｜tool▁sep｜>", "<｜tool▁call▁end｜>",
                                                           "<｜tool▁calls▁end｜>"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

ToolSyntax tool_syntax_of(std::string_view chat_template) {
  if (contains(chat_template, "<tool_call>")) return ToolSyntax::hermes;
  if (contains(chat_template, "<｜tool▁calls▁begin｜>")) return ToolSyntax::deepseek;
  if (contains(chat_template, "[TOOL_CALLS]")) return ToolSyntax::mistral;
  if (contains(chat_template, "[func_name1(params_name1") || contains(chat_template, "<|python_start|>"))
    return ToolSyntax::pythonic;
  if (contains(chat_template, "<|python_tag|>")) return ToolSyntax::llama;
  return ToolSyntax::hermes;
}

const CallText& call_text(ToolSyntax syntax) {
  switch (syntax) {
    case ToolSyntax::llama:
    case ToolSyntax::pythonic:  // JSON calls, which every model knows and a grammar can check
      return kLlama;
    case ToolSyntax::mistral:
      return kMistral;
    case ToolSyntax::deepseek:
      return kDeepseek;
    case ToolSyntax::hermes:
      break;
  }
  return kHermes;
}

std::span<const std::string_view> special_markers(ToolSyntax syntax) {
  switch (syntax) {
    case ToolSyntax::llama:
    case ToolSyntax::pythonic:
      return kLlamaMarkers;
    case ToolSyntax::mistral:
      return kMistralMarkers;
    case ToolSyntax::deepseek:
      return kDeepseekMarkers;
    case ToolSyntax::hermes:
      break;
  }
  return kHermesMarkers;
}

bool template_takes_tools(std::string_view chat_template) {
  return contains(chat_template, "tools");
}

std::string tool_instructions(const base::json::array& tools) {
  std::string text =
      "You can call functions to help with the user's request. These are the functions:\n<tools>\n";
  for (const base::json::value& tool : tools) text += base::json_text(tool) + "\n";
  text +=
      "</tools>\n\nTo call a function, answer with its name and its arguments as JSON inside <tool_call> "
      "tags, "
      "and nothing else:\n<tool_call>\n{\"name\": \"function-name\", \"arguments\": {\"argument\": "
      "\"value\"}}\n"
      "</tool_call>";
  return text;
}

bool template_has_reasoning(std::string_view chat_template) {
  return contains(chat_template, "</think>");
}

const AnswerSyntax::Tool* AnswerSyntax::find(std::string_view name) const {
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found == tools.end() ? nullptr : &*found;
}

}  // namespace kvasir::text
