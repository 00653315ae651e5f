#include "remote/kv_peers.h"

#include <gtest/gtest.h>

namespace kvasir::remote {
namespace {

using Outcome = KvPeers::Outcome;
using std::chrono::hours;
using std::chrono::minutes;

class KvPeersTest : public testing::Test {
 protected:
  wire::KvLink link(const std::string& address = "p") const {
    const auto links = peers_.links();
    for (const wire::KvLink& one : *links)
      if (one.address == address) return one;
    return {};
  }
  void measure(double bytes_per_s, std::uint64_t num_bytes = 10'000'000) {
    peers_.measure("p", {.num_bytes = num_bytes, .seconds = static_cast<double>(num_bytes) / bytes_per_s});
  }
  double bytes_per_s() const { return link().bytes_per_s; }

  base::FakeClock clock_;
  KvPeers peers_{clock_};
};

TEST_F(KvPeersTest, OutcomesAreCountedByWorker) {
  peers_.note("p", Outcome::came);
  peers_.note("q", Outcome::failed);
  peers_.note("p", Outcome::came);
  peers_.note("p", Outcome::failed);
  EXPECT_EQ(link("p"), (wire::KvLink{"p", 2, 1, false}));
  EXPECT_EQ(link("q"), (wire::KvLink{"q", 0, 1, false}));
  EXPECT_EQ(peers_.links()->front().address, "p") << "the latest one";
  EXPECT_EQ(peers_.version(), 4u);
}

TEST_F(KvPeersTest, OneWhomNobodyAsksAnyMoreIsForgotten) {
  for (int i = 0; i < 200; ++i) peers_.note("p" + std::to_string(i), Outcome::came);
  EXPECT_EQ(peers_.links()->size(), 64u);
  EXPECT_EQ(link("p199").num_good, 1u);
  EXPECT_EQ(link("p10").num_good, 0u);
}

TEST_F(KvPeersTest, TheSpeedIsAMeanOfTheTimeOfAByte) {
  peers_.note("p", Outcome::came);
  EXPECT_DOUBLE_EQ(bytes_per_s(), wire::kSupposedBytesPerS);
  measure(100e6);
  EXPECT_NEAR(bytes_per_s(), 100e6, 1) << "the first one takes the place of the supposition";
  measure(50e6);
  EXPECT_NEAR(bytes_per_s(), 1 / (0.75 / 100e6 + 0.25 / 50e6), 1);
  for (int i = 0; i < 30; ++i) measure(50e6);
  EXPECT_NEAR(bytes_per_s(), 50e6, 0.1e6);
  measure(1e9, 1000);
  EXPECT_NEAR(bytes_per_s(), 50e6, 0.1e6) << "too little to say anything";
}

TEST_F(KvPeersTest, TheSpeedHasBounds) {
  peers_.measure("p", {.num_bytes = 1 << 20, .seconds = 0});
  EXPECT_NEAR(bytes_per_s(), 100e9, 1e3);
  for (int i = 0; i < 100; ++i) peers_.measure("p", {.num_bytes = 1 << 20, .seconds = 1e6});
  EXPECT_NEAR(bytes_per_s(), 1e6, 1);
}

TEST_F(KvPeersTest, AWorkerThatSeemedSlowIsTriedAgainSomeTime) {
  measure(2e6);
  clock_.advance(minutes(2));
  EXPECT_NEAR(bytes_per_s(), 2 / (1 / 2e6 + 1 / 500e6), 1);
  clock_.advance(hours(1));
  EXPECT_NEAR(bytes_per_s(), wire::kSupposedBytesPerS, 1e4);
  measure(200e6);
  EXPECT_NEAR(bytes_per_s(), 200e6, 1) << "the mean begins anew";
}

}  // namespace
}  // namespace kvasir::remote
