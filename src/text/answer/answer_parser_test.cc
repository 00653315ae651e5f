#include "text/answer/answer_parser.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "base/json.h"

namespace kvasir::text {
namespace {

using Calls = AnswerSyntax::Calls;
using Reasoning = AnswerSyntax::Reasoning;

struct Answer {
  std::string content;
  std::string reasoning;
  std::vector<ToolCall> calls;
  bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  out << "content [" << answer.content << "] reasoning [" << answer.reasoning << "]";
  for (const ToolCall& call : answer.calls) out << " call " << call.name << " " << call.arguments;
  return out;
}

std::shared_ptr<AnswerSyntax> syntax_of(ToolSyntax syntax, Calls calls = Calls::looked_for,
                                        Reasoning reasoning = Reasoning::none) {
  auto out = std::make_shared<AnswerSyntax>();
  out->syntax = syntax;
  out->calls = calls;
  out->reasoning = reasoning;
  const auto has_city = [](const base::json::value& arguments) {
    const base::json::value* city = arguments.as_object().if_contains("city");
    return city != nullptr && city->is_string();
  };
  out->tools = {{"get_weather", has_city}, {"get_time", {}}};
  return out;
}

void add(Answer& answer, const AnswerPiece& piece) {
  answer.content += piece.content;
  answer.reasoning += piece.reasoning;
  for (const CallPiece& call : piece.calls) {
    if (!call.name.empty()) {
      EXPECT_EQ(call.index, static_cast<int>(answer.calls.size()));
      answer.calls.push_back({call.name, ""});
    }
    ASSERT_EQ(call.index + 1, static_cast<int>(answer.calls.size()));
    answer.calls.back().arguments += call.arguments;
  }
}

Answer parse(const std::vector<std::string>& pieces, const std::shared_ptr<AnswerSyntax>& syntax) {
  AnswerParser parser(syntax);
  Answer answer;
  for (const std::string& piece : pieces) add(answer, parser.push(piece));
  add(answer, parser.finish());
  EXPECT_EQ(parser.num_calls(), static_cast<int>(answer.calls.size()));
  return answer;
}

std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) out.emplace_back();
    out.back() += c;
  }
  return out;
}

// Parses the text whole, character by character, and cut in two at every place. All answers must be equal.
Answer read(const std::string& text, const std::shared_ptr<AnswerSyntax>& syntax) {
  const Answer whole = parse({text}, syntax);
  const std::vector<std::string> chars = characters(text);
  EXPECT_EQ(parse(chars, syntax), whole) << text;
  std::size_t at = 0;
  for (const std::string& c : chars) {
    EXPECT_EQ(parse({text.substr(0, at), text.substr(at)}, syntax), whole) << text << " cut at " << at;
    at += c.size();
  }
  return whole;
}

const ToolCall kParis{"get_weather", R"({"city":"Paris"})"};

TEST(AnswerParser, HermesCalls) {
  const auto syntax = syntax_of(ToolSyntax::hermes);
  EXPECT_EQ(
      read("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
           syntax),
      (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("I'll look.\n\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": "
                 "\"Paris\"}}</tool_call>\n"
                 "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>\n",
                 syntax),
            (Answer{"I'll look.", "", {kParis, {"get_time", "{}"}}}));
  // An end marker inside a string does not end the call. Arguments may be a string of JSON, or be missing.
  EXPECT_EQ(read("<tool_call>{\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": "
                 "\\\"</tool_call>\\\"}\"}</tool_call>",
                 syntax),
            (Answer{"", "", {{"get_weather", R"({"city":"</tool_call>"})"}}}));
  EXPECT_EQ(read("<tool_call>{\"name\": \"get_time\"}</tool_call>", syntax),
            (Answer{"", "", {{"get_time", "{}"}}}));
}

TEST(AnswerParser, WhatIsNoCallIsTextUnchanged) {
  const auto syntax = syntax_of(ToolSyntax::hermes);
  for (const char* text : {"Plain words.",
                           "",
                           "  \n ",
                           "a < b and <tool_cal> too",
                           "<tool_call>never mind</tool_call>",
                           "<tool_call>{\"name\": \"launch\", \"arguments\": {}}</tool_call>",
                           "<tool_call>{\"name\": \"get_time\", \"arguments\": [1]}</tool_call>",
                           "<tool_call>{\"name\": \"get_time\", \"arguments\": {\"a\": }}</tool_call>",
                           "<tool_call>{\"name\": \"get_time\", \"arguments\": {\"a\"",
                           "```json\n{\"a\": 1}\n```\ndone\n",
                           "```json\n{\"name\": \"launch\", \"arguments\": {\"city\": \"Paris\"}}\n```",
                           "```json\n{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Paris\"}}\n```",
                           "{\"name\": \"Bob\"}",
                           "{\"name\": \"get_time\"}",
                           "{\"name\": \"get_weather\", \"arguments\": {\"city\": 3}}",
                           "Use {\"name\": \"get_time\", \"arguments\": {}} inside a line.",
                           "```python\nprint({})\n```\n",
                           "``",
                           "`",
                           "```",
                           "```js",
                           "Grüße 🌧 [1] {x}",
                           "[1, 2]\n{\n}\n",
                           "{{\"name\": \"launch\", \"arguments\": {}}}",
                           "{{\"name\": \"get_weather\", \"arguments\": {\"city\": 3}}}",
                           "{{{\"name\": \"get_time\", \"arguments\": {}}}}",
                           "{{ user.name }} and {{name}}",
                           "}} {{"})
    EXPECT_EQ(read(text, syntax), (Answer{text, "", {}}));
}

// Qwen2.5-Coder writes a correct call, but in the wrong frame.
TEST(AnswerParser, FencedAndBareObjectsThatFitAreCalls) {
  const auto syntax = syntax_of(ToolSyntax::hermes);
  const std::string call = "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}";
  EXPECT_EQ(read("```json\n" + call + "\n```", syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("Sure:\n```json\n" + call + "\n```\nDone.", syntax), (Answer{"Sure:\nDone.", "", {kParis}}));
  EXPECT_EQ(read("```\n" + call + "\n" + call + "\n```", syntax), (Answer{"", "", {kParis, kParis}}));
  EXPECT_EQ(read(call, syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("  " + call + ",\n" + call + "\n", syntax), (Answer{"", "", {kParis, kParis}}));
  EXPECT_EQ(read("[" + call + ", {\"name\": \"get_time\", \"parameters\": {}}]", syntax),
            (Answer{"", "", {kParis, {"get_time", "{}"}}}));
  EXPECT_EQ(
      read("{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"arguments\": {\"city\": "
           "\"Paris\"}}}",
           syntax),
      (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("{\"tool_calls\": [" + call + "]}", syntax), (Answer{"", "", {kParis}}));
  // The first code block is text, and the second is a call.
  EXPECT_EQ(read("```json\n{\"a\": 1}\n```\n```json\n" + call + "\n```", syntax),
            (Answer{"```json\n{\"a\": 1}\n```", "", {kParis}}));
}

// The template of Qwen2.5-Coder shows calls with doubled braces, and the model copies them.
TEST(AnswerParser, DoubledBracesAreMended) {
  const auto syntax = syntax_of(ToolSyntax::hermes);
  const ToolCall time{"get_time", R"({"a":{"b":{}},"c":"{{}}\\"})"};
  const std::string call = R"({{"name": "get_weather", "arguments": {"city": "Paris"}}})";
  EXPECT_EQ(read("<tool_call>\n" + call + "\n</tool_call>", syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(read(call, syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("Look:\n" + call + "\n" + call + "\nDone", syntax),
            (Answer{"Look:\nDone", "", {kParis, kParis}}));
  EXPECT_EQ(read("```json\n" + call + "\n```", syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("[" + call + ", " + call + "]", syntax), (Answer{"", "", {kParis, kParis}}));
  // The cases: the arguments are doubled too, the end is not doubled, and braces that are doubled on purpose.
  EXPECT_EQ(read(R"({{"name": "get_weather", "arguments": {{"city": "Paris"}}}})", syntax),
            (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("<tool_call>{{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
                 syntax),
            (Answer{"", "", {kParis}}));
  EXPECT_EQ(read(R"({{"name": "get_time", "arguments": {"a": {"b": {}}, "c": "{{}}\\"}}})", syntax),
            (Answer{"", "", {time}}));
}

TEST(AnswerParser, WithoutToolsEverythingIsContent) {
  const std::string call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>\n";
  EXPECT_EQ(read(call, syntax_of(ToolSyntax::hermes, Calls::none)), (Answer{call, "", {}}));
}

TEST(AnswerParser, LlamaCalls) {
  const auto syntax = syntax_of(ToolSyntax::llama);
  const std::string call = "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}";
  EXPECT_EQ(read(call, syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(read("<|python_tag|>" + call + "; " + call, syntax), (Answer{"", "", {kParis, kParis}}));
  EXPECT_EQ(read("{\"name\": \"launch\", \"parameters\": {}}", syntax),
            (Answer{"{\"name\": \"launch\", \"parameters\": {}}", "", {}}));
}

TEST(AnswerParser, PythonicCalls) {
  const auto syntax = syntax_of(ToolSyntax::pythonic);
  EXPECT_EQ(read("[get_weather(city=\"Paris\")]", syntax), (Answer{"", "", {kParis}}));
  EXPECT_EQ(
      read("<|python_start|>[get_weather(city='Pa\\'ris, [x]'), get_time(a=[1, -2.5, None], b={'k': True},)]"
           "<|python_end|>",
           syntax),
      (Answer{"",
              "",
              {{"get_weather", R"({"city":"Pa'ris, [x]"})"},
               {"get_time", R"({"a":[1,-2.5,null],"b":{"k":true}})"}}}));
  for (const char* text :
       {"[launch(a=1)]", "[get_time(1)]", "[get_time(a=b)]", "[1, 2]", "[get_time", "[get_time(a=\""})
    EXPECT_EQ(read(text, syntax), (Answer{text, "", {}}));
}

TEST(AnswerParser, MistralCalls) {
  const auto syntax = syntax_of(ToolSyntax::mistral);
  EXPECT_EQ(read("[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}, "
                 "{\"name\": \"get_time\", \"arguments\": {}}]",
                 syntax),
            (Answer{"", "", {kParis, {"get_time", "{}"}}}));
  EXPECT_EQ(read("Look:[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Paris\"}[TOOL_CALLS]get_time{}", syntax),
            (Answer{"Look:", "", {kParis, {"get_time", "{}"}}}));
  EXPECT_EQ(read("[TOOL_CALLS]get_time[CALL_ID]abc123def[ARGS]{}", syntax),
            (Answer{"", "", {{"get_time", "{}"}}}));
  EXPECT_EQ(read("[TOOL_CALLS]launch{}", syntax), (Answer{"[TOOL_CALLS]launch{}", "", {}}));
}

TEST(AnswerParser, DeepseekCalls) {
  const auto syntax = syntax_of(ToolSyntax::deepseek);
  const std::string first =
      "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": "
      "\"Paris\"}\n```<｜tool▁call▁end｜>";
  const std::string second = "<｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜>";
  EXPECT_EQ(read("<｜tool▁calls▁begin｜>" + first + "\n" + second + "<｜tool▁calls▁end｜>", syntax),
            (Answer{"", "", {kParis, {"get_time", "{}"}}}));
  EXPECT_EQ(read("Grüße <｜tool", syntax), (Answer{"Grüße <｜tool", "", {}}));
}

TEST(AnswerParser, Reasoning) {
  const auto tagged = syntax_of(ToolSyntax::hermes, Calls::looked_for, Reasoning::tagged);
  EXPECT_EQ(read("<think>\nFirst </thin this.\n\n</think>\n\nThe answer.", tagged),
            (Answer{"The answer.", "First </thin this.", {}}));
  EXPECT_EQ(read("<think>\n\n</think>\n\nYes", tagged), (Answer{"Yes", "", {}}));
  EXPECT_EQ(read("No <think> here</think>", tagged), (Answer{"No <think> here</think>", "", {}}));
  EXPECT_EQ(read("<think>endless\n", tagged), (Answer{"", "endless", {}}));
  EXPECT_EQ(read("<thin", tagged), (Answer{"<thin", "", {}}));
  EXPECT_EQ(
      read("<think>a</think>\n<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>", tagged),
      (Answer{"", "a", {{"get_time", "{}"}}}));
  const auto open = syntax_of(ToolSyntax::hermes, Calls::none, Reasoning::open);
  EXPECT_EQ(read("so it is\n</think>\nThus.", open), (Answer{"Thus.", "so it is", {}}));
}

// If a grammar enforces the arguments, they are passed on as they come.
TEST(AnswerParser, EnforcedArgumentsAreStreamed) {
  const std::string call =
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Pa}ris\"}}\n</tool_call>";
  const ToolCall expected{"get_weather", "{\"city\": \"Pa}ris\"}"};
  for (const ToolSyntax family :
       {ToolSyntax::hermes, ToolSyntax::llama, ToolSyntax::mistral, ToolSyntax::deepseek}) {
    const CallText& text = call_text(family);
    std::string two = std::string(text.begin);
    for (const char* separator : {"", "next"}) {
      if (*separator != 0) two += text.separator;
      two += std::string(text.before_name) + "get_weather" + std::string(text.after_name) +
             "{\"city\": \"Pa}ris\"}" + std::string(text.after);
    }
    two += text.end;
    EXPECT_EQ(read(two, syntax_of(family, Calls::required)), (Answer{"", "", {expected, expected}}));
  }
  const auto required = syntax_of(ToolSyntax::hermes, Calls::required, Reasoning::tagged);
  EXPECT_EQ(read("<think>x</think>\n\n" + call, required), (Answer{"", "x", {expected}}));
  const auto after = syntax_of(ToolSyntax::hermes, Calls::after_trigger);
  EXPECT_EQ(read("Wait.\n" + call, after), (Answer{"Wait.", "", {expected}}));
  AnswerParser parser(required);
  std::size_t num_pieces = 0;
  for (const std::string& c : characters(call)) num_pieces += parser.push(c).calls.size();
  EXPECT_EQ(num_pieces, 1 + expected.arguments.size());
  // The length limit cut the call. The part that had come stays.
  EXPECT_EQ(read(call.substr(0, 60), required).calls[0].arguments, "{\"city\": \"P");
}

// Wherever an answer is cut, every call after the first is complete.
TEST(AnswerParser, FurtherCallsComeAsAWhole) {
  for (const ToolSyntax family : {ToolSyntax::hermes, ToolSyntax::mistral, ToolSyntax::deepseek}) {
    const CallText& text = call_text(family);
    const std::string call = std::string(text.before_name) + "get_weather" + std::string(text.after_name) +
                             R"({"city": "Paris"})" + std::string(text.after);
    const std::string first = std::string(text.begin) + call;
    const std::string all = first + std::string(text.separator) + call + std::string(text.separator) + call +
                            std::string(text.end);
    for (std::size_t cut = first.size(); cut <= all.size(); ++cut) {
      AnswerParser parser(syntax_of(family, Calls::required));
      Answer answer;
      add(answer, parser.push(all.substr(0, cut)));
      add(answer, parser.finish());
      ASSERT_EQ(answer.calls.size(), static_cast<std::size_t>(parser.num_calls()));
      for (const ToolCall& made : answer.calls) EXPECT_EQ(made.arguments, R"({"city": "Paris"})") << cut;
    }
  }
}

TEST(AnswerParser, KnowsWhetherItsCallsAreWhole) {
  const CallText& text = call_text(ToolSyntax::hermes);
  const std::string call = std::string(text.before_name) + "get_time" + std::string(text.after_name) + "{}" +
                           std::string(text.after);
  const auto whole = [](const std::string& answer) {
    AnswerParser parser(syntax_of(ToolSyntax::hermes, Calls::required));
    (void)parser.push(answer);
    (void)parser.finish();
    return parser.ends_in_whole_calls();
  };
  EXPECT_TRUE(whole(call));
  EXPECT_TRUE(whole(call + "\n"));
  EXPECT_TRUE(whole(call + "\n" + call));
  EXPECT_FALSE(whole(""));
  EXPECT_FALSE(whole(std::string(text.before_name) + "get_time" + std::string(text.after_name) + "{"));
  EXPECT_FALSE(whole(call + "\n<"));
  EXPECT_FALSE(whole(call + "\n" + std::string(text.before_name) + "get_time"));
}

TEST(AnswerParser, ManyFalseStartsCostLittle) {
  const auto syntax = syntax_of(ToolSyntax::hermes);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"name\": \"get_weather\", \"arguments\": {\"city\": [\n";
  EXPECT_EQ(parse({text}, syntax).content, text);
  std::string deep = "<tool_call>{\"name\": \"get_time\", \"arguments\": ";
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_EQ(parse({deep}, syntax).content, deep);
}

TEST(ToolSyntax, TheTemplateTells) {
  EXPECT_EQ(tool_syntax_of("... <tool_call> ..."), ToolSyntax::hermes);
  EXPECT_EQ(tool_syntax_of("[TOOL_CALLS]"), ToolSyntax::mistral);
  EXPECT_EQ(tool_syntax_of("<|python_tag|>"), ToolSyntax::llama);
  EXPECT_EQ(tool_syntax_of("[func_name1(params_name1=params_value1)]"), ToolSyntax::pythonic);
  EXPECT_EQ(tool_syntax_of("'<｜tool▁calls▁begin｜>'"), ToolSyntax::deepseek);
  EXPECT_EQ(tool_syntax_of(""), ToolSyntax::hermes);
}

}  // namespace
}  // namespace kvasir::text
