#include "bench/load_generator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/http_server.h"

namespace kvasir::bench {
namespace {

namespace asio = boost::asio;

// A server of the API that answers nothing until `num_awaited` requests have come.
class AnsweringServer {
 public:
  explicit AnsweringServer(int num_awaited)
      : num_awaited_(num_awaited), server_({}, [this](net::HttpRequest& request, net::Responder& responder) {
          return answer(request, responder);
        }) {
    port_ = server_.start().value();
  }

  Target target() const {
    const std::string url = fmt::format("http://127.0.0.1:{}", port_);
    return open_target({.url = url, .model = "m"}).value();
  }
  int most_at_once() {
    const std::lock_guard lock(mutex_);
    return most_at_once_;
  }
  std::vector<std::string> bodies() {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  asio::awaitable<void> answer(net::HttpRequest& request, net::Responder& responder) {
    arrive(request.body);
    bool gone = false;
    responder.on_disconnect([&] { gone = true; });
    asio::steady_timer timer(responder.executor());
    while (!gone && !enough()) {
      boost::system::error_code ignored;
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    leave();
    if (gone) co_return;
    std::vector<net::HttpHeader> headers;
    auto writer = co_await responder.start_stream(std::move(headers));
    if (!writer.ok()) co_return;
    for (int i = 0; i < 3; ++i) {
      std::string event = "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n";
      if (!(co_await (*writer)->write(std::move(event))).ok()) co_return;
    }
    std::string end =
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3}}\n\n"
        "data: [DONE]\n\n";
    if (!(co_await (*writer)->write(std::move(end))).ok()) co_return;
    const base::Status finished = co_await (*writer)->finish();
    (void)finished.ok();
  }

  void arrive(const std::string& body) {
    const std::lock_guard lock(mutex_);
    bodies_.push_back(body);
    most_at_once_ = std::max(most_at_once_, ++at_once_);
  }
  bool enough() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(bodies_.size()) >= num_awaited_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --at_once_;
  }

  const int num_awaited_;
  std::mutex mutex_;
  std::vector<std::string> bodies_;  // guarded by mutex_
  int at_once_ = 0;                  // guarded by mutex_
  int most_at_once_ = 0;             // guarded by mutex_
  std::uint16_t port_ = 0;
  net::HttpServer server_;
};

Conversation question(std::uint64_t index) {
  return {.opening = {}, .turns = {{fmt::format("question {}", index), 3}}};
}

TEST(LoadGenerator, AClosedLoopKeepsItsNumberOfClients) {
  AnsweringServer server(4);
  const Target target = server.target();
  const PhaseRun run = run_load(target, {.concurrency = 4, .num_requests = 21}, question, {});
  EXPECT_EQ(run.records.size(), 21u);
  EXPECT_EQ(server.most_at_once(), 4);
  EXPECT_EQ(run.peak_in_flight, 4);
  for (const RequestRecord& record : run.records) {
    EXPECT_TRUE(record.ok()) << record.message;
    EXPECT_EQ(record.output_tokens, 3);
    EXPECT_LE(record.scheduled_s, record.sent_s);
    EXPECT_LE(record.sent_s, record.first_s);
    EXPECT_LE(record.first_s, record.end_s);
  }
  EXPECT_GT(run.window_s, 0);
}

TEST(LoadGenerator, AnOpenLoopDoesNotWaitForAnswers) {
  AnsweringServer server(30);
  const Target target = server.target();
  const PhaseRun run = run_load(target, {.arrivals_s = std::vector<double>(30, 0.0)}, question, {});
  EXPECT_EQ(run.records.size(), 30u);
  EXPECT_EQ(run.peak_in_flight, 30);
  EXPECT_TRUE(std::all_of(run.records.begin(), run.records.end(), [](const auto& r) { return r.ok(); }));
}

TEST(LoadGenerator, LatencyCountsFromTheArrivalAndNotFromTheSending) {
  AnsweringServer server(1);
  const Target target = server.target();
  // The source blocks the client for longer than a request's timeout.
  const auto slow = [](std::uint64_t index) {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(20)) {
    }
    return question(index);
  };
  const PhaseRun run = run_load(target, {.arrivals_s = {0, 0, 0}}, slow, {});
  ASSERT_EQ(run.records.size(), 3u);
  for (const RequestRecord& record : run.records) EXPECT_GE(record.ttft_s(), 0.02);
  EXPECT_EQ(run.records.back().scheduled_s, 0);
  EXPECT_GE(run.records.back().ttft_s(), 0.06);
}

TEST(LoadGenerator, AConversationHoldsTheAnswersBefore) {
  AnsweringServer server(1);
  const Target target = server.target();
  const auto conversation = [](std::uint64_t) {
    return Conversation{.opening = {{"system", "be brief"}}, .turns = {{"first", 3}, {"second", 3}}};
  };
  const PhaseRun run = run_load(target, {.concurrency = 1, .num_requests = 2}, conversation, {});
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[1].turn, 1);
  const std::string second = server.bodies().at(1);
  EXPECT_NE(second.find(R"({"role":"assistant","content":"word word word "})"), std::string::npos) << second;
  EXPECT_NE(second.find("be brief"), std::string::npos);
}

TEST(LoadGenerator, ARequestWithoutAnswerTimesOut) {
  AnsweringServer server(1000);
  const Target target = server.target();
  const PhaseRun run =
      run_load(target, {.concurrency = 2, .num_requests = 2, .timeout_s = 0.05}, question, {});
  ASSERT_EQ(run.records.size(), 2u);
  for (const RequestRecord& record : run.records) EXPECT_EQ(kind_of(record), "timeout");
}

TEST(LoadGenerator, StopsWhenItIsTold) {
  AnsweringServer server(1000);
  const Target target = server.target();
  std::stop_source stop;
  LoadWatch watch;
  watch.stop = stop.get_token();
  watch.on_progress = [&](const LoadProgress& progress) {
    if (progress.in_flight == 2) stop.request_stop();
  };
  const PhaseRun run = run_load(target, {.concurrency = 2, .num_requests = 10}, question, watch);
  EXPECT_TRUE(run.interrupted);
  EXPECT_TRUE(run.records.empty());
}

TEST(LoadGenerator, NobodyThereIsAFailureToConnect) {
  const Target target = open_target({.url = "http://127.0.0.1:1", .model = "m"}).value();
  const PhaseRun run = run_load(target, {.concurrency = 1, .num_requests = 3}, question, {});
  ASSERT_EQ(run.records.size(), 3u);
  for (const RequestRecord& record : run.records) EXPECT_EQ(kind_of(record), "connect");
}

}  // namespace
}  // namespace kvasir::bench
