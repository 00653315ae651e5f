#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "api/api_fixture.h"
#include "text/chat_template.h"

namespace kvasir::api {
namespace {

// Checks the prompt that the model gets, with a template that the test gives.
class ChatPromptTest : public ApiTest {
 protected:
  void serve_template(std::string source) {
    serve(says("ok"));
    router::GeneratingModel model = router::scripted_model(worker_);
    auto parsed = text::ChatTemplate::parse(std::move(source));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    model.text.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*parsed));
    router_.set_ready("m", std::move(model));
  }

  // Returns the prompt of request `number`, or the field that the error names.
  std::string prompt(const std::string& body, std::size_t number = 0) {
    const Reply reply = post("/v1/chat/completions", body);
    if (reply.status != 200) return std::string(reply.body.at("error").at("param").as_string());
    std::string text;
    for (const TokenId token : worker_->wait_for(number).request.prompt) text += static_cast<char>(token);
    return text;
  }
};

TEST_F(ChatPromptTest, TemplateVariablesPassThrough) {
  serve_template("{{ 'quick' if enable_thinking is false else 'slow' }} {{ extra.a }}");
  EXPECT_EQ(prompt(chat_body(R"(, "chat_template_kwargs": {"enable_thinking": false, "extra": {"a": 1}})")),
            "quick 1");
  EXPECT_EQ(prompt(chat_body(R"(, "chat_template_kwargs": [])")), "chat_template_kwargs");
}

TEST_F(ChatPromptTest, EffortIsAVariableOfTheTemplate) {
  serve_template("effort: {{ reasoning_effort | default('any') }}");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "high")")), "effort: high");
  EXPECT_EQ(prompt(chat_body(), 1), "effort: any");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "high",
                                 "chat_template_kwargs": {"reasoning_effort": "mine"})"),
                   2),
            "effort: mine");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "huge")")), "reasoning_effort");
}

TEST_F(ChatPromptTest, TheLeastEffortsTurnThinkingOff) {
  serve_template("{{ 'quick' if enable_thinking is false else 'slow' }}");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "none")")), "quick");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "minimal")"), 1), "quick");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "low")"), 2), "slow");
  EXPECT_EQ(
      prompt(chat_body(R"(, "reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": true})"),
             3),
      "slow");
}

TEST_F(ChatPromptTest, AnEffortThatNothingTakesChangesNothing) {
  serve_template("{{ messages[0].content }}");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "low")")), "hi");
  EXPECT_EQ(prompt(chat_body(R"(, "reasoning_effort": "none")"), 1), "hi");
}

constexpr const char* kParts =
    R"({"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [
        {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})";

TEST_F(ChatPromptTest, PartsAreOneTextForATemplateOfTexts) {
  serve_template("{% for m in messages %}[{{ m.content }}]{% endfor %}");
  EXPECT_EQ(prompt(kParts), "[s][a\nb]");
}

TEST_F(ChatPromptTest, TextsArePartsForATemplateOfParts) {
  serve_template(
      "{% for m in messages %}[{% for part in m.content %}{{ part.type }}={{ part.text }};{% endfor %}]"
      "{% endfor %}");
  EXPECT_EQ(prompt(kParts), "[text=s;][text=a;text=b;]");
}

TEST_F(ChatPromptTest, ATemplateOfBothGetsWhatWasSent) {
  serve_template(
      "{% for m in messages %}[{% if m.content is string %}{{ m.content }}{% else %}"
      "{% for part in m.content %}<{{ part.text }}>{% endfor %}{% endif %}]{% endfor %}");
  EXPECT_EQ(prompt(kParts), "[s][<a><b>]");
}

}  // namespace
}  // namespace kvasir::api
