#include <gtest/gtest.h>

#include <string>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

// A forecast of a worker with SLOs of 0.5 s to the first token and 50 ms a token.
wire::Forecast expects(double ttft_s, double tpot_s = 0.02) {
  return {.expected = {ttft_s, tpot_s}, .alone = {0.1, 0.01}, .slo = {0.5, 0.05}};
}

class ByForecastTest : public ApiTest {
 protected:
  void let_wait(int max_wait_ms) { limit_callers({.name = "t", .max_wait_ms = max_wait_ms}); }

  // Sends a request, and returns whether it waits in line.
  bool waits_in_line(net::LoopbackClient& client) {
    client.send(net::post_request("/v1/chat/completions", chat_body()));
    return eventually([&] { return api_.num_in_lobby() == 1; });
  }

  static std::string error_code(const Reply& reply) {
    return std::string(reply.body.at("error").at("code").as_string());
  }
};

TEST_F(ByForecastTest, ARequestThatWouldBeLateIsRefusedWithTheReason) {
  serve(says("ok"));
  let_wait(0);
  worker_->set_forecast(expects(2.7));
  const Reply late = post("/v1/chat/completions", chat_body());
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(error_code(late), "server_overloaded");
  EXPECT_EQ(late.headers.at("retry-after"), "3")
      << "a quarter is added while nothing is known of the machine";
  const std::string message(late.body.at("error").at("message").as_string());
  EXPECT_NE(message.find("could take 3.38 s, and the limit of tier 't' is 0.50 s"), std::string::npos)
      << message;
  worker_->set_forecast(expects(0.4));
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
}

TEST_F(ByForecastTest, ARequestThatWouldSlowAllStreamsDownIsRefused) {
  serve(says("ok"));
  let_wait(0);
  worker_->set_forecast(expects(0.2, 0.08));
  const Reply slow = post("/v1/chat/completions", chat_body());
  EXPECT_EQ(slow.status, 503);
  EXPECT_NE(slow.text.find("every 80 ms, and the limit of tier 't' is 50 ms"), std::string::npos)
      << slow.text;
  EXPECT_EQ(slow.headers.at("retry-after"), "1");
}

TEST_F(ByForecastTest, ASlowMachineIsMeasuredByWhatItCanDoAlone) {
  serve(says("ok"));
  let_wait(0);
  worker_->set_forecast({.expected = {8.5, 0.3}, .alone = {8, 0.25}, .slo = {0.5, 0.05}});
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
  worker_->set_forecast({.expected = {90, 0.3}, .alone = {8, 0.25}, .slo = {0.5, 0.05}});
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 503);
}

// An idle worker's forecast does not change, so a request that waited for it would wait in vain.
TEST_F(ByForecastTest, AnIdleWorkerTakesWhatItExpectsToBeLate) {
  serve(says("ok"));
  let_wait(0);
  wire::Forecast forecast = expects(100, 10);
  forecast.is_idle = true;
  worker_->set_forecast(forecast);
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
}

TEST_F(ByForecastTest, WhoMayWaitIsServedWhenThereIsTime) {
  serve(says("ok"));
  let_wait(20'000);
  worker_->set_forecast(expects(2));
  net::LoopbackClient client(port_);
  ASSERT_TRUE(waits_in_line(client));
  worker_->set_forecast(expects(0.1));
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(api_.num_in_lobby(), 0u);
}

TEST_F(ByForecastTest, AWaitEndsWithItsTime) {
  serve(says("ok"));
  let_wait(30);
  worker_->set_forecast(expects(2));
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 503);
  EXPECT_EQ(api_.num_in_lobby(), 0u);
}

TEST_F(ByForecastTest, AWaitEndsWithItsClientAndGivesItsPlaceBack) {
  serve(says("ok"));
  limit_callers({.name = "t", .max_concurrent = 1, .max_wait_ms = 60'000});
  worker_->set_forecast(expects(2));
  {
    net::LoopbackClient client(port_);
    ASSERT_TRUE(waits_in_line(client));
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return api_.num_in_lobby() == 0; }));
  worker_->set_forecast(expects(0.1));
  EXPECT_TRUE(eventually([&] { return post("/v1/chat/completions", chat_body()).status == 200; }));
}

TEST_F(ByForecastTest, NobodyPassesThoseWhoWait) {
  serve(says("ok"));
  let_wait(60'000);
  worker_->set_forecast(expects(2));
  net::LoopbackClient client(port_);
  ASSERT_TRUE(waits_in_line(client));
  let_wait(0);
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 503);
  worker_->set_forecast(expects(0.1));
  EXPECT_EQ(client.read_response()->status, 200);
}

TEST_F(ByForecastTest, AWaitEndsWhenTheServerDrains) {
  serve(says("ok"));
  let_wait(60'000);
  worker_->set_forecast(expects(2));
  net::LoopbackClient client(port_);
  ASSERT_TRUE(waits_in_line(client));
  api_.drain();
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503);
  EXPECT_NE(response->body.find("server_draining"), std::string::npos) << response->body;
}

class DowngradeTest : public ByForecastTest {
 protected:
  // Serves two models: "m" is small and in time, "big" is large and late.
  void serve_two() {
    serve(says("small"));
    set_size("m", worker_, 1'000'000'000);
    router_.add("big");
    set_size("big", big_, 7'000'000'000);
    let_wait(0);
    worker_->set_forecast(expects(0.1));
    big_->set_forecast(expects(2));
  }
  Reply ask(const std::string& model, const std::string& more = "") {
    return post("/v1/chat/completions", R"({"model": ")" + model +
                                            R"(", "messages": [{"role": "user", "content": "Prove that )"
                                            R"(there are infinitely many primes, step by step."}])" +
                                            more + "}");
  }
  static std::string answered(const Reply& reply) {
    if (reply.status != 200) return std::to_string(reply.status);
    EXPECT_EQ(reply.headers.at("x-kvasir-model"), reply.body.at("model").as_string());
    return std::string(reply.body.at("model").as_string());
  }

  std::shared_ptr<router::ScriptedWorker> big_ = std::make_shared<router::ScriptedWorker>(says("large"));

 private:
  void set_size(const std::string& name, const std::shared_ptr<router::ScriptedWorker>& worker,
                std::int64_t num_parameters) {
    router::GeneratingModel model = router::scripted_model(worker);
    model.text.num_parameters = num_parameters;
    router_.set_ready(name, std::move(model));
  }
};

constexpr const char* kAllow = R"(, "kvasir": {"allow_downgrade": true})";

TEST_F(DowngradeTest, ASmallerModelAnswersWhereTheQuestionAllowsIt) {
  serve_two();
  EXPECT_EQ(answered(ask("big")), "503");
  EXPECT_EQ(answered(ask("big", kAllow)), "m");
  EXPECT_EQ(answered(ask("auto", R"(, "reasoning_effort": "high")")), "m");
  big_->set_forecast(expects(0.2));
  EXPECT_EQ(answered(ask("big", kAllow)), "big");
  EXPECT_EQ(answered(ask("auto", R"(, "reasoning_effort": "high")")), "big");
}

TEST_F(DowngradeTest, IfAllAreLateItsOwnModelDecides) {
  serve_two();
  worker_->set_forecast(expects(3));
  EXPECT_EQ(answered(ask("big", kAllow)), "503");
  limit_callers({.name = "t", .max_concurrent = 1, .max_wait_ms = -1});
  EXPECT_EQ(answered(ask("big", kAllow)), "big");
  EXPECT_EQ(answered(ask("big", kAllow)), "big") << "no place is lost";
  limit_callers({.name = "t", .priority = 3, .max_wait_ms = -1});
  EXPECT_EQ(answered(ask("big", kAllow)), "big");
  EXPECT_EQ(big_->wait_for(2).request.priority, 3) << "admitted twice, it is still of its tier's class";
}

TEST_F(DowngradeTest, CountsAsOneRequest) {
  serve_two();
  limit_callers({.name = "t", .requests_per_minute = 60, .max_concurrent = 1, .max_wait_ms = 0});
  const Reply reply = ask("big", kAllow);
  EXPECT_EQ(answered(reply), "m");
  EXPECT_EQ(reply.headers.at("x-ratelimit-remaining-requests"), "59");
}

TEST_F(ByForecastTest, SomeTiersAreNeverRefused) {
  serve(says("ok"));
  let_wait(-1);
  worker_->set_forecast(expects(1000));
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
}

TEST_F(ByForecastTest, MessagesAreToldInAnthropicsWay) {
  serve(says("ok"));
  let_wait(0);
  worker_->set_forecast(expects(2));
  const Reply late = post(
      "/v1/messages", R"({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})");
  EXPECT_EQ(late.status, 529);
  EXPECT_EQ(late.body.at("error").at("type").as_string(), "overloaded_error");
}

class NoForecastTest : public ApiTest {
 protected:
  NoForecastTest() : ApiTest(ServiceOptions{.anonymous_tier = tier_reader(), .admits_by_goodput = false}) {}
};

TEST_F(NoForecastTest, TakesEverything) {
  serve(says("ok"));
  limit_callers({.name = "t", .max_wait_ms = 0});
  worker_->set_forecast(expects(1000));
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
}

}  // namespace
}  // namespace kvasir::api
