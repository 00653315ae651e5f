#include <gtest/gtest.h>

#include "api/api_fixture.h"
#include "wire/worker_lost.h"

namespace kvasir::api {
namespace {

constexpr std::string_view kAnswer =
    "Gr\xc3\xbc\xc3\x9f dich.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": "
    "\"\xe2\x82\xac\"}}\n</tool_call>";

// Tests with two workers, "a" and "b". Requests begin at "a", which is lost after some tokens of each
// sequence.
class FailoverTest : public ApiTest {
 protected:
  void SetUp() override {
    serve();
    renew_model();
    add("b", [](const wire::GenerateRequest& request) { return rest(request, kAnswer.size()); });
  }

  // Makes the model new: it has no workers, and neither its members nor its retry budget remember a loss.
  void renew_model() {
    router_.remove("m");
    router_.add("m");
    router::GeneratingModel model = router::scripted_model(nullptr);
    model.worker = nullptr;
    router_.set_ready("m", std::move(model));
  }

  void lose_after(std::size_t num_tokens, std::string_view reason = wire::kWorkerLost) {
    renew_model();
    add("a", [num_tokens, reason](const wire::GenerateRequest& request) {
      std::vector<wire::TokenEvent> events = rest(request, num_tokens);
      events.push_back({.error = base::Error{base::ErrorCode::unavailable, "gone", {}, std::string(reason)}});
      return events;
    });
    const auto b =
        add("b", [](const wire::GenerateRequest& request) { return rest(request, kAnswer.size()); });
    b->set_report({.num_waiting = 1});  // makes the router prefer "a"
  }

  std::shared_ptr<router::ScriptedWorker> add(const std::string& id, router::ScriptedWorker::Script script) {
    auto worker = std::make_shared<router::ScriptedWorker>(std::move(script));
    router_.add_member("m", id, worker);
    return worker;
  }
  std::uint64_t num_moved() const {
    return router_.failures("m")->failovers.of(router::FailoverOutcome::moved);
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

  // The whole output of one choice in a stream, however it was cut into events.
  struct Said {
    std::string text;
    std::string calls;
    std::string lines;  // the logprobs
    std::string finish;
    bool operator==(const Said&) const = default;
    friend void PrintTo(const Said& said, std::ostream* out) {
      *out << said.text << '|' << said.calls << '|' << said.lines << '|' << said.finish;
    }
  };

  static std::string text_at(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
  }

  static void add_to(Said& said, const json::object& choice) {
    const json::object& delta = choice.at("delta").as_object();
    said.text += text_at(delta, "content");
    if (const auto* calls = delta.if_contains("tool_calls"))
      for (const json::value& call : calls->as_array())
        said.calls += text_at(call.at("function").as_object(), "name") +
                      text_at(call.at("function").as_object(), "arguments");
    if (const auto* logprobs = choice.if_contains("logprobs"); logprobs && logprobs->is_object())
      for (const json::value& line : logprobs->at("content").as_array()) said.lines += json::serialize(line);
    said.finish += text_at(choice, "finish_reason");
  }

  std::map<std::int64_t, Said> said(const std::string& more) {
    std::map<std::int64_t, Said> all;
    const std::string text = post("/v1/chat/completions", chat_body(more)).text;
    for (const json::value& event : events_of(text)) {
      EXPECT_FALSE(event.as_object().contains("error")) << json::serialize(event);
      if (!event.as_object().contains("choices")) continue;
      for (const json::value& choice : event.at("choices").as_array())
        add_to(all[choice.at("index").as_int64()], choice.as_object());
    }
    return all;
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
      EXPECT_EQ(num_moved(), whole.size()) << "each choice moves once, at " << cut;
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
