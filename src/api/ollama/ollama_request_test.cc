#include "api/ollama/ollama_request.h"

#include <gtest/gtest.h>

namespace kvasir::api {
namespace {

base::Result<OllamaRequest> read_chat(const std::string& more) {
  return read_ollama_chat(
      base::parse_json(R"({"model": "m", "messages": [{"role": "user", "content": "hi"}])" + more + "}")
          .value()
          .as_object());
}

base::Result<OllamaRequest> read_generate(const std::string& more) {
  return read_ollama_generate(base::parse_json(R"({"model": "m")" + more + "}").value().as_object());
}

std::string messages_text(const std::string& messages) {
  auto read = read_ollama_messages(base::parse_json(messages).value());
  return read.ok() ? base::json_text(json::value(*read)) : read.error().field + ": " + read.error().message;
}

TEST(OllamaRequest, OptionsBecomeParameters) {
  const auto request = read_chat(R"(, "options": {"temperature": 0.5, "top_k": 40, "top_p": 0.9, "min_p": 0.1,
      "seed": 7, "num_predict": 12, "num_ctx": 2048, "stop": ["a", "b"], "repeat_penalty": 1.2, "repeat_last_n": -1,
      "presence_penalty": 0.25, "frequency_penalty": 0.5, "num_gpu": 1, "num_thread": 4, "use_mmap": true,
      "typical_p": 1, "mirostat": 0, "num_keep": 4}, "format": "json", "keep_alive": -1)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const GenerateParams& params = request->params();
  EXPECT_TRUE(params.stream) << "Ollama streams unless it is told not to";
  EXPECT_EQ(params.sampling.temperature, 0.5f);
  EXPECT_EQ(params.sampling.top_k, 40);
  EXPECT_EQ(params.sampling.top_p, 0.9f);
  EXPECT_EQ(params.sampling.min_p, 0.1f);
  EXPECT_EQ(params.sampling.repetition_penalty, 1.2f);
  EXPECT_EQ(params.sampling.presence_penalty, 0.25f);
  EXPECT_EQ(params.sampling.frequency_penalty, 0.5f);
  EXPECT_TRUE(params.given.temperature && params.given.top_k && params.given.repetition_penalty);
  EXPECT_EQ(params.seed, 7u);
  EXPECT_EQ(params.max_tokens, 12);
  EXPECT_EQ(params.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request->num_ctx, 2048);
  EXPECT_EQ(params.format->source.kind, grammar::GrammarSource::Kind::json_object);
  EXPECT_TRUE(params.warnings.empty()) << params.warnings.front();
}

TEST(OllamaRequest, SomeNumbersMeanNone) {
  const auto all = read_chat(R"(, "options": {"num_predict": -2, "seed": -1})");
  EXPECT_TRUE(all->params().is_unlimited);
  EXPECT_FALSE(all->params().seed);
  const auto without = read_chat(
      R"(, "options": {"repeat_penalty": 1.5, "frequency_penalty": 1, "presence_penalty": 1, "repeat_last_n": 0})");
  EXPECT_EQ(without->params().sampling.repetition_penalty, 1);
  EXPECT_EQ(without->params().sampling.frequency_penalty, 0);
  EXPECT_EQ(without->params().sampling.presence_penalty, 0);
}

TEST(OllamaRequest, WhatIsIgnoredIsAWarning) {
  const auto warnings = [](const std::string& more) {
    const auto request = read_chat(more);
    return request.ok() ? request->params().warnings : std::vector<std::string>{"refused"};
  };
  const auto begins = [](const std::vector<std::string>& lines, const std::string& begin) {
    return lines.size() == 1 && lines.front().starts_with(begin);
  };
  EXPECT_TRUE(warnings(R"(, "keep_alive": -1)").empty());
  EXPECT_TRUE(begins(warnings(R"(, "keep_alive": "5m")"), "keep_alive: "));
  EXPECT_TRUE(begins(warnings(R"(, "keep_alive": 300)"), "keep_alive: "));
  EXPECT_TRUE(begins(warnings(R"(, "options": {"repeat_last_n": 64})"), "options.repeat_last_n: "));
  EXPECT_TRUE(begins(warnings(R"(, "options": {"num_bananas": 64})"), "options.num_bananas: "));
  EXPECT_TRUE(begins(warnings("  , \"options\": {\"a\\nb\": 1}"), "options.a?b: "));
  EXPECT_TRUE(begins(warnings(R"(, "shift": true)"), "shift: "));
  EXPECT_TRUE(warnings(R"(, "shift": false, "truncate": false)").empty());
}

TEST(OllamaRequest, ThinkingIsAVariableOfTheTemplate) {
  EXPECT_EQ(read_chat(R"(, "think": false)")->chat.template_kwargs.at("enable_thinking"), false);
  EXPECT_FALSE(read_chat(R"(, "think": false)")->wants_thinking);
  EXPECT_TRUE(read_chat(R"(, "think": true)")->wants_thinking);
  const auto high = read_chat(R"(, "think": "high")");
  EXPECT_EQ(high->chat.reasoning_effort, "high");
  EXPECT_EQ(high->chat.effort_field, "think");
}

TEST(OllamaRequest, ACutContextIsAskedFor) {
  EXPECT_EQ(read_chat("")->chat.context_policy, ContextPolicy::error);
  const auto request = read_chat(R"(, "truncate": true)");
  EXPECT_EQ(request->chat.context_policy, ContextPolicy::sliding_window);
  EXPECT_TRUE(request->chat.chose_policy);
}

TEST(OllamaRequest, MessagesBecomeAChat) {
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "thinking": "t", "tool_calls": [
          {"function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"name": "g", "arguments": {}}}]},
        {"role": "tool", "tool_name": "g", "content": "G"}, {"role": "tool", "content": "F"}])"),
            R"([{"role":"user","content":"q"},)"
            R"({"role":"assistant","content":"","reasoning_content":"t","tool_calls":[)"
            R"({"id":"call00001","type":"function","function":{"name":"f","arguments":{"a":1}}},)"
            R"({"id":"call00002","type":"function","function":{"name":"g","arguments":{}}}]},)"
            R"({"role":"tool","content":"G","name":"g","tool_call_id":"call00002"},)"
            R"({"role":"tool","content":"F","tool_call_id":"call00001"}])");
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": "q", "images": []}])"),
            R"([{"role":"user","content":"q"}])");
}

TEST(OllamaRequest, ALastMessageOfTheAssistantBeginsTheAnswer) {
  const auto request =
      read_ollama_chat(base::parse_json(R"({"model": "m", "messages": [{"role": "user", "content": "q"},
                                                      {"role": "assistant", "content": "So"}]})")
                           .value()
                           .as_object());
  EXPECT_EQ(request->chat.prefill, "So");
}

TEST(OllamaRequest, APromptIsAChatUnlessItIsRaw) {
  auto chat = read_generate(R"(, "prompt": "p", "system": "s")");
  EXPECT_EQ(base::json_text(json::value(chat->chat.messages)),
            R"([{"role":"system","content":"s"},{"role":"user","content":"p"}])");
  EXPECT_TRUE(std::holds_alternative<ChatRequest>(chat->take_text()));
  auto raw = read_generate(R"(, "prompt": "p", "raw": true, "options": {"num_predict": 3})");
  const QuestionText text = raw->take_text();
  EXPECT_EQ(std::get<CompletionRequest>(text).prompts.size(), 1u);
  EXPECT_EQ(params_of(text).max_tokens, 3);
  auto gap = read_generate(R"(, "prompt": "a", "suffix": "b")");
  const QuestionText filled = gap->take_text();
  EXPECT_EQ(std::get<CompletionRequest>(filled).infill.value().suffix, "b");
}

TEST(OllamaRequest, WithoutAPromptTheModelIsOnlyLookedFor) {
  using Use = OllamaRequest::Use;
  EXPECT_EQ(read_generate("")->use, Use::load);
  EXPECT_EQ(read_generate(R"(, "prompt": "", "keep_alive": "10m")")->use, Use::load);
  EXPECT_EQ(read_generate(R"(, "keep_alive": 0)")->use, Use::unload);
  EXPECT_EQ(read_generate(R"(, "keep_alive": "0s")")->use, Use::unload);
  EXPECT_EQ(read_generate(R"(, "prompt": "x", "keep_alive": 0)")->use, Use::answer);
  EXPECT_EQ(read_ollama_chat({{"model", "m"}, {"messages", json::array()}})->use, Use::load);
}

TEST(OllamaRequest, DurationsAreGos) {
  const auto read = [](const json::value& value) { return read_keep_alive(value); };
  EXPECT_EQ(read("-1m").value(), KeepAlive::forever);
  EXPECT_EQ(read("1h30m").value(), KeepAlive::some_time);
  EXPECT_EQ(read("1.5s").value(), KeepAlive::some_time);
  EXPECT_EQ(read("0").value(), KeepAlive::not_at_all);
  EXPECT_EQ(read(0.0).value(), KeepAlive::not_at_all);
  for (const char* wrong : {"", "m", "5", "5 m", "5x", "1.2.3s", "5m3", "-", "."})
    EXPECT_EQ(read(wrong).ok(), std::string_view(wrong) == "5") << wrong;
  EXPECT_FALSE(read(true).ok());
}

TEST(OllamaRequest, WhatIsWrongIsNamed) {
  struct Case {
    std::string more;
    const char* field;
  };
  const Case chats[] = {
      {R"(, "options": 3)", "options"},
      {R"(, "options": {"temperature": 9})", "options.temperature"},
      {R"(, "options": {"top_k": "x"})", "options.top_k"},
      {R"(, "options": {"num_predict": 0})", "options.num_predict"},
      {R"(, "options": {"num_ctx": 0})", "options.num_ctx"},
      {R"(, "options": {"stop": [""]})", "options.stop[0]"},
      {R"(, "options": {"mirostat": 2})", "options.mirostat"},
      {R"(, "options": {"typical_p": 0.5})", "options.typical_p"},
      {R"(, "options": {"vocab_only": true})", "options.vocab_only"},
      {R"(, "format": "xml")", "format"},
      {R"(, "format": 3)", "format"},
      {R"(, "think": "deeply")", "think"},
      {R"(, "think": 3)", "think"},
      {R"(, "keep_alive": "soon")", "keep_alive"},
      {R"(, "stream": "yes")", "stream"},
      {R"(, "top_logprobs": 3)", "top_logprobs"},
      {R"(, "tools": [{"type": "function"}])", "tools[0].function"},
  };
  for (const Case& c : chats) {
    const auto request = read_chat(c.more);
    ASSERT_FALSE(request.ok()) << c.more;
    EXPECT_EQ(request.error().field, c.field) << c.more;
  }
  const Case prompts[] = {
      {R"(, "prompt": 3)", "prompt"},
      {R"(, "prompt": "a", "suffix": 3)", "suffix"},
      {R"(, "prompt": "a", "suffix": "b", "system": "s")", "system"},
      {R"(, "prompt": "a", "template": "{{ .Prompt }}")", "template"},
      {R"(, "prompt": "a", "context": [1, 2])", "context"},
      {R"(, "prompt": "a", "images": ["aGk="])", "images"},
      {R"(, "prompt": "a", "width": 512)", "width"},
      {R"(, "prompt": "a", "raw": true, "system": "s")", "system"},
      {R"(, "prompt": "a", "raw": true, "think": true)", "think"},
  };
  for (const Case& c : prompts) {
    const auto request = read_generate(c.more);
    ASSERT_FALSE(request.ok()) << c.more;
    EXPECT_EQ(request.error().field, c.field) << c.more;
  }
  EXPECT_EQ(read_ollama_chat({}).error().field, "model");
  const auto at = [](const std::string& messages) {
    return read_ollama_messages(base::parse_json(messages).value()).error().field;
  };
  EXPECT_EQ(at("3"), "messages");
  EXPECT_EQ(at("[3]"), "messages[0]");
  EXPECT_EQ(at(R"([{"content": "x"}])"), "messages[0].role");
  EXPECT_EQ(at(R"([{"role": "robot", "content": "x"}])"), "messages[0].role");
  EXPECT_EQ(at(R"([{"role": "user", "content": 3}])"), "messages[0].content");
  EXPECT_EQ(at(R"([{"role": "user", "content": "x", "images": ["aGk="]}])"), "messages[0].images");
  EXPECT_EQ(at(R"([{"role": "assistant", "thinking": 3}])"), "messages[0].thinking");
  EXPECT_EQ(at(R"([{"role": "assistant", "tool_calls": [{"function": {}}]}])"),
            "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(at(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 3}}]}])"),
            "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(at(R"([{"role": "tool", "tool_name": 3, "content": ""}])"), "messages[0].tool_name");
  std::string calls;
  for (int i = 0; i < 1025; ++i) calls += R"({"function": {"name": "f"}},)";
  calls.pop_back();
  EXPECT_EQ(at(R"([{"role": "assistant", "tool_calls": [)" + calls + "]}]"), "messages[0].tool_calls[1024]");
}

}  // namespace
}  // namespace kvasir::api
