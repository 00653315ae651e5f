#include "api/answer/encode/summarize.h"

#include <gtest/gtest.h>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

class SummarizeTest : public ApiTest {
 protected:
  // Serves a model that writes `summary` when it is asked for one, and "Hello" otherwise.
  void serve_summary(const std::string& summary, wire::FinishReason finish, std::string chat_template = {}) {
    serve(
        [summary, finish](const wire::GenerateRequest& request) {
          std::string prompt;
          for (const TokenId id : request.prompt) prompt += static_cast<char>(id);
          if (prompt.find("You compress") == std::string::npos) return says("Hello")(request);
          std::vector<wire::TokenEvent> events = says(summary, 3)(request);
          events.back().finish = finish;
          return events;
        },
        1200);
    if (chat_template.empty()) return;
    router::GeneratingModel model = router::scripted_model(worker_, 1200);
    model.text.tokenizer = router::byte_tokenizer(chat_template);
    model.text.chat_template =
        std::make_shared<const text::ChatTemplate>(text::ChatTemplate::parse(chat_template).value());
    router_.set_ready("m", std::move(model));
  }
  // Sends a chat of 14 turns. Each has 100 bytes, and a byte is a token here; the template adds more.
  Reply ask_long() {
    std::string messages;
    for (char c = 'a'; c < 'o'; ++c) {
      if (c != 'a') messages += R"(, {"role": "assistant", "content": "ok"}, )";
      messages += R"({"role": "user", "content": ")" + std::string(100, c) + "\"}";
    }
    return post("/v1/chat/completions", R"({"model": "m", "max_tokens": 50, "context_policy": "summarize",
        "messages": [)" + messages + "]}");
  }
};

// A template whose prompt ends inside the reasoning.
constexpr const char* kOpensReasoning =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n<think>\n{# ends with </think> #}";

TEST_F(SummarizeTest, AThoughtIsNoPartOfASummary) {
  serve_summary("<think>\nWhat did they say?\n</think>\n\nThey said a lot.", wire::FinishReason::stop);
  const Reply answer = ask_long();
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("context").at("summary"), "They said a lot.");
}

TEST_F(SummarizeTest, AThoughtThatThePromptOpensIsNoPartOfASummary) {
  serve_summary("What did they say?\n</think>\n\nThey said a lot.", wire::FinishReason::stop,
                kOpensReasoning);
  const Reply answer = ask_long();
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("context").at("summary"), "They said a lot.");
}

TEST_F(SummarizeTest, AThoughtThatIsCutIsNoSummary) {
  serve_summary("<think>\nThey said many things, among them", wire::FinishReason::length);
  const Reply answer = ask_long();
  EXPECT_EQ(answer.status, 400) << answer.text;
  EXPECT_EQ(answer.body.at("error").at("code"), "context_length_exceeded");
}

TEST_F(SummarizeTest, AThoughtThatThePromptOpensAndIsCutIsNoSummary) {
  serve_summary("They said many things, among them", wire::FinishReason::length, kOpensReasoning);
  const Reply answer = ask_long();
  EXPECT_EQ(answer.status, 400) << answer.text;
  EXPECT_EQ(answer.body.at("error").at("code"), "context_length_exceeded");
}

}  // namespace
}  // namespace kvasir::api
