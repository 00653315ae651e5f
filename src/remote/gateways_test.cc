#include <gtest/gtest.h>

#include <algorithm>

#include "remote/remote_fixture.h"

// Several gateways share one worker: what each knows of the others' requests.
namespace kvasir::remote {
namespace {

using seam::TokenStream;

class GatewaysTest : public RemoteTest {
 protected:
  static constexpr auto kReportEvery = 100ms;

  // How long it takes until the condition holds.
  template <class Condition>
  static std::chrono::nanoseconds until(const Condition& condition) {
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(becomes_true(condition));
    return std::chrono::steady_clock::now() - begun;
  }
};

TEST_F(GatewaysTest, EachSeesTheLoadOfTheOtherWithinAReportInterval) {
  auto server = WorkerServer::start(
      {.listen = "127.0.0.1:0", .report_every = kReportEvery, .idle_report_every = 60s}, served_by(fed_));
  ASSERT_TRUE(server.ok());
  const auto a = connect((*server)->port());
  const auto b = connect((*server)->port());
  ASSERT_TRUE(is(*a, RemoteWorker::Link::ready) && is(*b, RemoteWorker::Link::ready));
  std::vector<std::chrono::nanoseconds> delays;
  for (std::size_t i = 0; i < 4; ++i) {
    RemoteWorker& sender = i % 2 == 0 ? *a : *b;
    const RemoteWorker& other = i % 2 == 0 ? *b : *a;
    Received received = ask(sender, request_of({1}));
    EXPECT_EQ(sender.report().num_waiting + sender.report().num_running, 1) << "its own it counts at once";
    const auto stream = fed_->wait_for(i).stream;
    fed_->set({.num_blocks = 64, .num_running = 1});
    delays.push_back(until([&] { return other.report().num_running == 1; }));
    EXPECT_TRUE(becomes_true([&] { return sender.report().num_running == 1; }));
    EXPECT_EQ(sender.report().num_waiting, 0) << "it is counted once";
    fed_->set({.num_blocks = 64});
    wire::TokenEvent last = tokens_event({1});
    last.finish = wire::FinishReason::stop;
    TokenStream::send({{stream, last}});
    delays.push_back(until([&] { return other.report().num_running == 0; }));
    ASSERT_TRUE(received.wait_end());
    EXPECT_TRUE(becomes_true([&] { return sender.report().num_running == 0; }));
  }
  // A quiet worker would report once a minute, and check every 15 s for changes.
  std::ranges::sort(delays);
  EXPECT_LT(delays[delays.size() / 2], kReportEvery + 50ms);
  EXPECT_LT(delays.back(), kReportEvery + 1s) << "on a busy machine";
}

}  // namespace
}  // namespace kvasir::remote
