#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "api/answer/run/generation.h"
#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

class GoodputTest : public ApiTest {
 protected:
  static tenancy::Tier tier(int slo_ttft_ms, int slo_tpot_ms) {
    return {.name = "gold", .slo_ttft_ms = slo_ttft_ms, .slo_tpot_ms = slo_tpot_ms};
  }
  // The ratio in /metrics; "none" if there is no such row.
  std::string goodput(const std::string& window) {
    const std::string text = get("/metrics").text;
    const std::string row = R"(llm_goodput_ratio{model="m",class="gold",window=")" + window + "\"} ";
    const std::size_t at = text.find(row);
    if (at == std::string::npos) return "none";
    return text.substr(at + row.size(), text.find('\n', at) - at - row.size());
  }
  void wait_ms(int ms) {
    const base::TimePoint until = clock_.now() + std::chrono::milliseconds(ms);
    EXPECT_TRUE(eventually([&] { return clock_.now() >= until; }));
  }
};

TEST_F(GoodputTest, ARequestIsGoodIfItMetBothSlos) {
  limit_callers(tier(60'000, 60'000));
  serve(says("hello"));
  EXPECT_EQ(goodput("1m"), "none");
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "n": 2)")).status, 200);
  EXPECT_EQ(goodput("1m"), "1");
  EXPECT_EQ(goodput("5m"), "1");
}

TEST_F(GoodputTest, WithoutBothSlosNothingIsCounted) {
  serve(says("hello"));
  for (const auto& [ttft_ms, tpot_ms] : {std::pair(0, 0), std::pair(60'000, 0), std::pair(0, 60'000)}) {
    limit_callers(tier(ttft_ms, tpot_ms));
    EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
  }
  EXPECT_EQ(goodput("1m"), "none");
}

TEST_F(GoodputTest, ALateFirstTokenAndALateLaterOneAreBad) {
  serve();
  std::size_t number = 0;
  for (const auto& [ttft_ms, tpot_ms] : {std::pair(2, 60'000), std::pair(60'000, 2)}) {
    limit_callers(tier(ttft_ms, tpot_ms));
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body()));
    const auto asked = worker_->wait_for(number++);
    if (ttft_ms == 2) wait_ms(4);
    TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("a"), .usage = {.output_tokens = 1}}}});
    // Wait until the first token was taken before the second is sent.
    EXPECT_TRUE(eventually([&] { return asked.stream->backlog() == 0; }));
    if (tpot_ms == 2) wait_ms(4);
    TokenStream::send({{asked.stream,
                        {.tokens = router::byte_tokens("b"),
                         .finish = FinishReason::stop,
                         .usage = {.output_tokens = 2}}}});
    EXPECT_EQ(client.read_response()->status, 200);
    EXPECT_EQ(goodput("1m"), "0");
  }
}

TEST_F(GoodputTest, FailedRequestsAreBadAndThoseWhoseClientLeftDoNotCount) {
  limit_callers(tier(60'000, 60'000));
  serve();
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body()));
    worker_->wait_for(0);
  }
  ASSERT_TRUE(eventually([&] { return used().num_cancelled == 1; }));
  EXPECT_EQ(goodput("1m"), "none");
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body()));
  const auto asked = worker_->wait_for(1);
  TokenStream::send({{asked.stream, {.error = base::error(base::ErrorCode::internal, "broken")}}});
  EXPECT_EQ(client.read_response()->status, 500);
  EXPECT_EQ(goodput("1m"), "0");
}

boost::asio::awaitable<void> take_once(Generation& generation) {
  EXPECT_TRUE((co_await generation.next({})).ok());
}

// The measured time begins at admission, since the prediction is made there.
TEST_F(GoodputTest, APredictionIsComparedWithTheRealTime) {
  serve();
  base::FakeClock clock;
  obs::Registry registry;
  ApiMetrics metrics(registry, clock);
  sched::Caution caution;
  boost::asio::io_context io;
  Job job{.text = router_.chat_text("m").value()};
  job.sequences.emplace_back().prompt = {1};
  const auto meter = std::make_shared<RequestMeter>(RequestMeter::Surroundings{*meter_, metrics, clock, {}},
                                                    tenancy::anonymous(), meter::UsageRecord());
  auto permit = admission_.enter(tenancy::anonymous(), {.sequences = 1}).value();
  auto lease = router_.pick(*job.text, {kv::BlockChain(kv::CacheScope{})}).value();
  auto itinerary = std::make_shared<router::Itinerary>(router_, job.text, std::move(lease), 1);
  const auto generation =
      Generation::start(
          std::move(job), std::move(permit), std::move(itinerary),
          {io.get_executor(), clock, metrics.of_model("m"), caution, meter, {.predicted_ttft_s = 1.5}})
          .value();
  clock.advance(std::chrono::seconds(1));
  TokenStream::send({{worker_->wait_for(0).stream, {.tokens = router::byte_tokens("a")}}});
  boost::asio::co_spawn(io, take_once(*generation), boost::asio::detached);
  io.run();
  const std::string text = registry.text();
  EXPECT_NE(text.find(R"(llm_predicted_ttft_error_ratio_bucket{model="m",le="0.3"} 0)"), std::string::npos);
  EXPECT_NE(text.find(R"(llm_predicted_ttft_error_ratio_bucket{model="m",le="0.5"} 1)"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::api
