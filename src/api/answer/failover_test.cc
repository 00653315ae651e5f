#include <gtest/gtest.h>

#include "api/api_fixture.h"
#include "wire/worker_lost.h"

namespace kvasir::api {
namespace {

constexpr std::string_view kAnswer =
    "Gr\xc3\xbc\xc3\x9f dich.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": "
    "\"\xe2\x82\xac\"}}\n</tool_call>";

// Two workers, of which the first is lost after so many tokens of each sequence.
class FailoverTest : public ApiTest {
 protected:
  void SetUp() override {
    serve();
    router::GeneratingModel model = router::scripted_model(nullptr);
    model.worker = nullptr;
    router_.set_ready("m", std::move(model));
    add("b", [](const wire::GenerateRequest& request) { return rest(request, kAnswer.size()); });
  }

  void lose_after(std::size_t num_tokens, std::string_view reason = wire::kWorkerLost) {
    router_.remove_member("m", "a");  // a new one has lost nothing yet
    router_.remove_member("m", "b");
    add("a", [num_tokens, reason](const wire::GenerateRequest& request) {
      std::vector<wire::TokenEvent> events = rest(request, num_tokens);
      events.push_back({.error = base::Error{base::ErrorCode::unavailable, "gone", {}, std::string(reason)}});
      return events;
    });
    add("b", [](const wire::GenerateRequest& request) { return rest(request, kAnswer.size()); });
  }

  void add(const std::string& id, router::ScriptedWorker::Script script) {
    router_.add_member("m", id, std::make_shared<router::ScriptedWorker>(std::move(script)));
  }

  static std::vector<wire::TokenEvent> rest(const wire::GenerateRequest& request, std::size_t up_to) {
    std::vector<wire::TokenEvent> events;
    for (std::size_t i = request.resumed.size(); i < up_to; ++i) {
      wire::TokenEvent& event = events.emplace_back();
      event.tokens = router::byte_tokens(kAnswer.substr(i, 1));
      event.usage = {.prompt_tokens = static_cast<int>(request.prompt.size()),
                     .output_tokens = static_cast<int>(i + 1)};
      if (request.sampling.logprobs)
        event.tokens[0].logprob = wire::TokenLogprob{-0.01f * static_cast<float>(i), {}};
      if (i + 1 == kAnswer.size()) event.finish = wire::FinishReason::stop;
    }
    return events;
  }

  // All that a stream says, by choice, without what differs between any two answers.
  std::map<std::int64_t, std::string> said(const std::string& more) {
    std::map<std::int64_t, std::string> texts;
    for (const json::value& event : events_of(post("/v1/chat/completions", chat_body(more)).text)) {
      EXPECT_FALSE(event.as_object().contains("error")) << json::serialize(event);
      if (!event.as_object().contains("choices")) continue;
      for (const json::value& choice : event.at("choices").as_array()) {
        std::string& text = texts[choice.at("index").as_int64()];
        const json::object& delta = choice.at("delta").as_object();
        if (const auto* content = delta.if_contains("content"); content && content->is_string())
          text += content->as_string();
        if (const auto* calls = delta.if_contains("tool_calls"))
          for (const json::value& call : calls->as_array())
            text += call.at("function").as_object().contains("arguments")
                        ? std::string(call.at("function").at("arguments").as_string())
                        : "";
        if (const auto* lines = choice.as_object().if_contains("logprobs"); lines && lines->is_object())
          text += json::serialize(*lines);
        if (!choice.at("finish_reason").is_null()) text += choice.at("finish_reason").as_string();
      }
    }
    return texts;
  }
};

TEST_F(FailoverTest, AStreamIsTheSameWhereverItsWorkerIsLost) {
  const std::string tools = R"(, "stream": true, "tools": [{"type": "function", "function": {"name": "f"}}])";
  for (const std::string more : {R"(, "stream": true, "n": 3, "logprobs": true)", tools.c_str()}) {
    const auto whole = said(more);
    ASSERT_FALSE(whole.empty());
    for (std::size_t cut = 0; cut < kAnswer.size(); cut += 1 + cut % 3) {
      lose_after(cut, cut % 2 == 0 ? wire::kWorkerLost : wire::kDraining);
      EXPECT_EQ(said(more), whole) << cut;
    }
  }
}

TEST_F(FailoverTest, TheReceiptAndTheMetricsSayThatItMoved) {
  lose_after(5);
  const Reply reply = post("/v1/chat/completions", chat_body(R"(, "kvasir": {"receipt": true})"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(reply.body.at("kvasir").at("moved"), 1);
  EXPECT_EQ(reply.body.at("usage").at("completion_tokens"), kAnswer.size());
  const std::string metrics = get("/metrics").text;
  EXPECT_NE(metrics.find("llm_failovers_total{model=\"m\",outcome=\"moved\"} 1"), std::string::npos);
  EXPECT_NE(metrics.find("llm_member_ejections_total{model=\"m\",member=\"a\"} 0"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::api
