#include "host/gpu_plan.h"

#include <gtest/gtest.h>

#include <thread>

namespace kvasir::host {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::vector<int> divided(std::int64_t free_bytes, const std::vector<KvDemand>& demands,
                         ContextIs context = ContextIs::asked_for) {
  auto blocks = divide_kv(free_bytes, demands, context);
  EXPECT_TRUE(blocks.ok()) << blocks.error().message;
  return blocks.ok() ? *blocks : std::vector<int>{};
}

TEST(DivideKv, OneModelGetsNineTenths) {
  EXPECT_EQ(divided(1000 * kMiB, {{"a", kMiB, 100}}), std::vector<int>{900});
}

TEST(DivideKv, EqualSharesAreEqualBytes) {
  EXPECT_EQ(divided(1000 * kMiB, {{"a", kMiB, 10}, {"b", 3 * kMiB, 10}}), (std::vector<int>{450, 150}));
}

TEST(DivideKv, StatedSharesDivideTheBytes) {
  EXPECT_EQ(divided(1000 * kMiB, {{"a", kMiB, 10, 2}, {"b", kMiB, 10}}), (std::vector<int>{600, 300}));
}

// The smallest share is raised to one context. The others then divide less, so that the next share is smaller
// than its context, too.
TEST(DivideKv, EveryModelGetsOneFullContextFirst) {
  const std::vector<KvDemand> demands = {{"a", kMiB, 10, 10}, {"b", kMiB, 280, 5}, {"c", kMiB, 300, 0.4}};
  EXPECT_EQ(divided(1112 * kMiB, demands), (std::vector<int>{420, 280, 300}));
}

TEST(DivideKv, ContextsThatFillEverythingFit) {
  const std::int64_t odd = 786432 + 1024;
  EXPECT_EQ(divided((7 + 13) * odd * 10, {{"a", odd, 63}, {"b", odd, 117}}), (std::vector<int>{63, 117}));
}

TEST(DivideKv, TooLittleForWhatWasAskedNamesTheNumbers) {
  const std::vector<KvDemand> demands = {{"a", kMiB, 500}, {"b", 2 * kMiB, 300}};
  const auto blocks = divide_kv(1000 * kMiB, demands, ContextIs::asked_for);
  ASSERT_FALSE(blocks.ok());
  for (const char* part : {"900 MiB", "'a' 500 MiB", "'b' 600 MiB"})
    EXPECT_NE(blocks.error().message.find(part), std::string::npos) << blocks.error().message;
  EXPECT_EQ(divided(1000 * kMiB, demands, ContextIs::as_it_comes), (std::vector<int>{450, 225}));
}

TEST(DivideKv, NoRoomAtAllIsAnErrorAndNoEndlessDivision) {
  const std::vector<KvDemand> demands = {{"a", kMiB, 5}, {"b", kMiB, 5}};
  for (const std::int64_t free : {std::int64_t{0}, kMiB, 4 * kMiB})
    EXPECT_FALSE(divide_kv(free, demands, ContextIs::as_it_comes).ok()) << free;
  EXPECT_TRUE(divide_kv(0, {}, ContextIs::asked_for).ok());
}

TEST(ParseShares, TakesNamesAndNumbers) {
  const auto shares = parse_shares({"a=2", "./b=c.gguf=0.5"}, {"a", "./b=c.gguf"});
  ASSERT_TRUE(shares.ok()) << shares.error().message;
  EXPECT_EQ(shares->at("a"), 2);
  EXPECT_EQ(shares->at("./b=c.gguf"), 0.5);
  for (const char* wrong : {"a", "a=", "=2", "a=x", "a=-1", "a=0", "a=nan", "a=1e9", "a=2 ", "b=2"})
    EXPECT_FALSE(parse_shares({wrong}, {"a"}).ok()) << wrong;
}

GpuPlan::Options meeting_of(int num_models, std::int64_t free_bytes) {
  return {.num_models = num_models,
          .context = ContextIs::as_it_comes,
          .free_bytes = [free_bytes]() -> base::Result<std::int64_t> { return free_bytes; }};
}

TEST(GpuPlan, DividesOnceAllAreThere) {
  GpuPlan plan(meeting_of(4, 1000 * kMiB));
  base::Result<int> blocks[2] = {0, 0};
  std::vector<std::thread> threads;
  for (const int i : {0, 1})
    threads.emplace_back(
        [&, i] { blocks[i] = plan.join({i == 0 ? "a" : "b", kMiB, 10, i == 0 ? 1.0 : 2.0}, {}); });
  plan.count_out();
  plan.count_out();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(blocks[0].value(), 300);
  EXPECT_EQ(blocks[1].value(), 600);
}

TEST(GpuPlan, AStoppedModelWaitsForNobody) {
  GpuPlan plan(meeting_of(2, 1000 * kMiB));
  std::stop_source stop;
  base::Result<int> blocks = 0;
  std::thread thread([&] { blocks = plan.join({"a", kMiB, 10}, stop.get_token()); });
  stop.request_stop();
  thread.join();
  EXPECT_FALSE(blocks.ok());
}

}  // namespace
}  // namespace kvasir::host
