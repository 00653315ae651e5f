#include "api/answer/model/auto_model.h"

#include <gtest/gtest.h>

#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

constexpr const char* kEasy = "What is the capital of France?";
constexpr const char* kDifficult = "Prove this theorem and derive its proof step by step.";

ServiceOptions with_names(std::string small, std::string large) {
  ServiceOptions options;
  options.ping_interval = std::chrono::milliseconds(20);
  options.auto_small = std::move(small);
  options.auto_large = std::move(large);
  return options;
}

// Tests with two models: the small one is "m" and answers "small"; the large one is "big".
class AutoTest : public KeyedApiTest {
 protected:
  using KeyedApiTest::KeyedApiTest;

  void add_model(const std::string& name, std::int64_t num_parameters, int context_length = 4096) {
    auto worker = std::make_shared<router::ScriptedWorker>(says(name));
    router::GeneratingModel model = router::scripted_model(worker, context_length);
    model.text.num_parameters = num_parameters;
    if (!router_.has(name)) router_.add(name);
    router_.set_ready(name, std::move(model));
  }
  void serve_two() {
    serve(says("m"));
    add_model("big", 7'000'000'000);
    add_model("m", 1'000'000'000);
  }
  static std::string chat(const std::string& text, const std::string& more = "") {
    return R"({"model": "auto", "messages": [{"role": "user", "content": ")" + text + "\"}]" + more + "}";
  }
  // The model that answered. Checks that the body and the header name the same one.
  static std::string answered(const Reply& reply) {
    if (reply.status != 200) return "status " + std::to_string(reply.status) + reply.text;
    const std::string model(reply.body.at("model").as_string());
    EXPECT_EQ(reply.headers.at("x-kvasir-model"), model);
    return model;
  }
  std::string ask(const std::string& text, const std::string& more = "") {
    return answered(post("/v1/chat/completions", chat(text, more)));
  }
};

TEST_F(AutoTest, EasyQuestionsGoToTheSmallModelAndHardOnesToTheLarge) {
  serve_two();
  EXPECT_EQ(ask(kEasy), "m");
  EXPECT_EQ(ask(kDifficult), "big");
  EXPECT_EQ(ask("hi", R"(, "reasoning_effort": "high")"), "big");
  EXPECT_EQ(ask("hi", R"(, "reasoning_effort": "low")"), "m");
  EXPECT_EQ(answered(post("/v1/chat/completions", chat_body())), "m");
  const Reply stream = post("/v1/chat/completions", chat(kDifficult, R"(, "stream": true)"));
  EXPECT_EQ(stream.headers.at("x-kvasir-model"), "big");
  EXPECT_EQ(events_of(stream.text).back().at("model"), "big");
}

TEST_F(AutoTest, LooksAtTheNewestMessageOfTheUserAndNotAtTheSystemPrompt) {
  serve_two();
  const std::string body =
      R"({"model": "auto", "messages": [{"role": "system", "content": ")" + std::string(kDifficult) +
      R"("}, {"role": "user", "content": [{"type": "text", "text": ")" + kEasy + "\"}]}]}";
  EXPECT_EQ(answered(post("/v1/chat/completions", body)), "m");
}

TEST_F(AutoTest, EveryEndpointThatGeneratesTakesIt) {
  serve_two();
  for (const auto& [text, model] : {std::pair(kEasy, "m"), std::pair(kDifficult, "big")}) {
    const std::string quoted = std::string("\"") + text + "\"";
    EXPECT_EQ(answered(post("/v1/completions", R"({"model": "auto", "prompt": )" + quoted + "}")), model);
    EXPECT_EQ(answered(post("/v1/responses", R"({"model": "auto", "input": )" + quoted + "}")), model);
    const std::string message =
        R"({"model": "auto", "messages": [{"role": "user", "content": )" + quoted + "}]";
    EXPECT_EQ(answered(post("/v1/messages", message + R"(, "max_tokens": 9})")), model);
    EXPECT_EQ(post("/v1/messages/count_tokens", message + "}").status, 200);
    const Reply made = post("/v1/conversations", R"({"model": "auto"})");
    const std::string id(made.body.at("id").as_string());
    const Reply turn = post("/v1/conversations/" + id + "/messages", R"({"content": )" + quoted + "}");
    EXPECT_EQ(answered(turn), model);
    EXPECT_EQ(turn.body.at("message").at("model"), model);
    EXPECT_EQ(get("/v1/conversations/" + id).body.at("model"), "auto");
  }
}

TEST_F(AutoTest, OtherEndpointsKnowNoSuchModel) {
  serve_two();
  EXPECT_EQ(post("/v1/embeddings", R"({"model": "auto", "input": "x"})").status, 404);
  EXPECT_EQ(post("/v1/tokenize", R"({"model": "auto", "prompt": "x"})").status, 404);
}

TEST_F(AutoTest, MetricsAndUsageHaveTheRealModel) {
  serve_two();
  EXPECT_EQ(ask(kDifficult), "big");
  EXPECT_NE(get("/metrics").text.find("llm_tokens_total{model=\"big\",kind=\"output\"} 3"),
            std::string::npos);
  EXPECT_EQ(get("/metrics").text.find("\"auto\""), std::string::npos);
  ASSERT_TRUE(eventually([&] { return used().num_requests == 1; }));
  EXPECT_EQ(get("/v1/usage?group_by=model").body.at("data").at(0).at("model"), "big");
}

TEST_F(AutoTest, OneReadyModelAnswersEverything) {
  serve(says("m"));
  router_.add("big");
  EXPECT_EQ(ask(kDifficult), "m");
  router_.set_state("m", {.phase = router::Phase::loading});
  add_model("big", 7);
  EXPECT_EQ(ask(kEasy), "big");
}

TEST_F(AutoTest, NoneReadyIsTheErrorOfAModelThatIsNot) {
  serve(says("m"));
  router_.set_failed("m", "bad");
  router_.add("big");
  const Reply reply = post("/v1/chat/completions", chat(kEasy));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body.at("error").at("code"), "model_not_ready");
  EXPECT_TRUE(reply.headers.contains("retry-after"));
  EXPECT_FALSE(reply.headers.contains("x-kvasir-model"));
}

TEST_F(AutoTest, AModelThatIsReallyCalledAutoWins) {
  serve_two();
  add_model("auto", 3);
  EXPECT_EQ(ask(kEasy), "auto");
  EXPECT_EQ(ask(kDifficult), "auto");
  EXPECT_EQ(get("/v1/models").body.at("data").as_array().size(), 3u);
}

TEST_F(AutoTest, OnlyModelsThatTheCallersTierHasAreChosen) {
  serve_two();
  add_model("n", 5);  // the only model of the tier "elsewhere"
  add_tenant("acme", "elsewhere");
  const std::string key = bearer(issue("acme"));
  EXPECT_EQ(answered(post_with("/v1/chat/completions", chat(kDifficult), key)), "n");
  EXPECT_EQ(get_with("/v1/models", key).body.at("data").as_array().size(), 1u);
}

TEST_F(AutoTest, AHigherTierLeansToTheLargeModel) {
  serve_two();
  for (const char* tier : {"free", "enterprise"}) add_tenant(tier, tier);
  const std::string text = "Explain why the sky is blue.";
  EXPECT_EQ(answered(post_with("/v1/chat/completions", chat(text), bearer(issue("free")))), "m");
  EXPECT_EQ(answered(post_with("/v1/chat/completions", chat(text), bearer(issue("enterprise")))), "big");
}

TEST_F(AutoTest, AQuestionThatIsTooLongForOneGoesToTheOther) {
  serve_two();
  add_model("big", 7'000'000'000, 256);
  EXPECT_EQ(ask(kDifficult), "big");
  EXPECT_EQ(ask(std::string(kDifficult) + std::string(2000, 'x')), "m");
}

TEST_F(AutoTest, IsListedWhereItHasAChoice) {
  serve(says("m"));
  EXPECT_EQ(get("/v1/models").body.at("data").as_array().size(), 1u);
  EXPECT_EQ(get("/v1/models/auto").status, 404);
  add_model("big", 7, 8192);
  const json::value list = get("/v1/models").body.at("data");
  ASSERT_EQ(list.as_array().size(), 3u);
  EXPECT_EQ(list.at(2).at("id"), "auto");
  EXPECT_EQ(list.at(2).at("owned_by"), "kvasir");
  EXPECT_EQ(list.at(2).at("context_window"), 8192);
  EXPECT_EQ(get("/v1/models/auto").body, list.at(2));
}

class NamedAutoTest : public AutoTest {
 protected:
  NamedAutoTest() : AutoTest(with_names("big", "m")) {}
};

TEST_F(NamedAutoTest, SettingsNameThePair) {
  serve_two();
  add_model("huge", 70'000'000'000);
  EXPECT_EQ(ask(kEasy), "big");
  EXPECT_EQ(ask(kDifficult), "m");
  router_.set_state("m", {.phase = router::Phase::loading});
  EXPECT_EQ(ask(kDifficult), "big");
  router_.set_state("big", {.phase = router::Phase::loading});
  EXPECT_EQ(post("/v1/chat/completions", chat(kEasy)).body.at("error").at("code"), "model_not_ready");
}

}  // namespace
}  // namespace kvasir::api
