#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "net/server_fixture.h"

// Clients that do not read harm only their own connection.
namespace kvasir::net {
namespace {

using namespace std::chrono_literals;
using SlowReaderTest = ServerTest;
INSTANTIATE_TEST_SUITE_P(Over, SlowReaderTest, testing::Values(Layer::plain, Layer::tls), name_of);

TEST_P(SlowReaderTest, DisconnectInTheMiddleOfAStreamEndsIt) {
  serve();
  {
    LoopbackClient client = connect();
    client.send(get_request("/flood"));
    ASSERT_FALSE(client.read_until("data: ").empty());
  }
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
  EXPECT_EQ(flood_end_, base::ErrorCode::cancelled);
  expect_undisturbed();
}

TEST_P(SlowReaderTest, AReaderThatTakesNothingLosesItsConnectionOnly) {
  ServerOptions options;
  options.write_timeout = 100ms;
  options.send_buffer_bytes = 8192;
  serve(options);
  LoopbackClient client = connect(4096);
  client.send(get_request("/flood"));
  expect_undisturbed();
  EXPECT_TRUE(left_.try_acquire_for(kPatience));
  EXPECT_EQ(flood_end_, base::ErrorCode::timeout);
  expect_undisturbed();
}

TEST_P(SlowReaderTest, AReaderThatTakesALittleKeepsItsConnection) {
  ServerOptions options;
  options.write_timeout = 10s;
  options.send_buffer_bytes = 8192;
  serve(options);
  LoopbackClient client = connect(4096);
  client.send(get_request("/stream?5000"));
  std::string all;
  while (!all.ends_with("0\r\n\r\n")) {
    const std::string some = client.read_some(7);
    ASSERT_FALSE(some.empty());
    all += some;
  }
  EXPECT_NE(all.find("data: 4999\n\n"), std::string::npos);
}

// The client takes some bytes within every 100 ms, as the window opens, so only the rate can cut it.
TEST_P(SlowReaderTest, AReaderThatKeepsTakingButTooLittleIsCut) {
  ServerOptions options;
  options.write_timeout = 100ms;
  options.min_read_rate = std::int64_t{1} << 40;
  options.send_buffer_bytes = 8192;
  serve(options);
  LoopbackClient client = connect(4096);
  client.send(get_request("/large?50000000"));
  std::size_t num_bytes = 0;
  while (true) {
    const std::string some = client.read_some(7);
    if (some.empty()) break;
    num_bytes += some.size();
  }
  EXPECT_GT(num_bytes, 10'000u);
  EXPECT_LT(num_bytes, 50'000'000u);
  expect_undisturbed();
}

TEST_P(SlowReaderTest, AReaderAtAModestPaceGetsALongAnswer) {
  ServerOptions options;
  options.write_timeout = 100ms;
  options.send_buffer_bytes = 8192;
  serve(options);
  LoopbackClient client = connect(4096);
  client.send(get_request("/large?300000"));
  client.read_until("\r\n\r\n");
  std::size_t num_bytes = 0;
  while (num_bytes < 300'000) {
    const std::string byte = client.read_some(1);
    ASSERT_FALSE(byte.empty());
    num_bytes += byte.size();
  }
}

TEST_P(SlowReaderTest, AnswersOfAllRequestsTogetherAreBounded) {
  ServerOptions options;
  options.max_body_bytes = 1'000'000;
  options.max_bodies_bytes = 4'000'000;
  options.send_buffer_bytes = 8192;
  serve(options);
  const auto status_of = [](LoopbackClient& client) { return client.read_until("\r\n").substr(9, 3); };
  // Each client reads the first line of its answer and nothing more.
  std::vector<LoopbackClient> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(connect(4096));
    held.back().send(get_request("/large?900000"));
    ASSERT_EQ(status_of(held.back()), "200");
  }
  LoopbackClient late = connect();
  late.send(get_request("/large?900000"));
  const auto response = late.read_response();
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(code_of(*response), "server_overloaded");
  EXPECT_EQ(response->headers.count("retry-after"), 1u);
  // Small answers are still sent. Large ones are sent again once the others have gone.
  expect_undisturbed();
  held.clear();
  while (true) {
    LoopbackClient large = connect();
    large.send(get_request("/large?900000"));
    const auto answer = large.read_response();
    ASSERT_TRUE(answer.has_value());
    if (answer->status == 200) break;
    ASSERT_EQ(answer->status, 503);
  }
}

TEST_P(SlowReaderTest, OneAnswerAloneAlwaysFits) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  options.max_bodies_bytes = 1000;
  serve(options);
  LoopbackClient client = connect();
  client.send(get_request("/large?900000"));
  EXPECT_EQ(client.read_response()->body.size(), 900'000u);
}

}  // namespace
}  // namespace kvasir::net
