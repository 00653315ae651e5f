#include "tenancy/fair_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::tenancy {
namespace {

std::string drain(FairQueue<std::string>& queue) {
  std::string order;
  while (auto item = queue.pop()) order += *item + " ";
  return order;
}

constexpr const char* kA = "a";
constexpr const char* kB = "b";

TEST(FairQueue, OneTenantIsFirstComeFirstServed) {
  FairQueue<std::string> queue;
  queue.push(kA, 1, 5, "a1");
  queue.push(kA, 1, 1, "a2");
  queue.push(kA, 1, 9, "a3");
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(drain(queue), "a1 a2 a3 ");
  EXPECT_FALSE(queue.pop().has_value());
}

TEST(FairQueue, EqualTenantsTakeTurnsThoughOneFlooded) {
  FairQueue<std::string> queue;
  for (int i = 1; i <= 4; ++i) queue.push(kA, 1, 1, "a" + std::to_string(i));
  queue.push(kB, 1, 1, "b1");
  queue.push(kB, 1, 1, "b2");
  EXPECT_EQ(drain(queue), "a1 b1 a2 b2 a3 a4 ");
}

TEST(FairQueue, SharesCostRatherThanCount) {
  FairQueue<std::string> queue;
  for (int i = 1; i <= 2; ++i) queue.push(kA, 1, 4, "a" + std::to_string(i));
  for (int i = 1; i <= 5; ++i) queue.push(kB, 1, 1, "b" + std::to_string(i));
  EXPECT_EQ(drain(queue), "a1 b1 b2 b3 b4 a2 b5 ");
}

TEST(FairQueue, WeightMultipliesTheShare) {
  FairQueue<std::string> queue;
  for (int i = 1; i <= 2; ++i) queue.push(kA, 1, 3, "a" + std::to_string(i));
  for (int i = 1; i <= 6; ++i) queue.push(kB, 3, 3, "b" + std::to_string(i));
  EXPECT_EQ(drain(queue), "a1 b1 b2 b3 a2 b4 b5 b6 ");
}

TEST(FairQueue, IdlenessSavesNothingUp) {
  FairQueue<std::string> queue;
  for (int i = 1; i <= 5; ++i) queue.push(kA, 1, 1, "a" + std::to_string(i));
  for (int i = 1; i <= 3; ++i) queue.pop();
  for (int i = 1; i <= 3; ++i) queue.push(kB, 1, 1, "b" + std::to_string(i));
  EXPECT_EQ(drain(queue), "b1 a4 b2 a5 b3 ");
}

TEST(FairQueue, ForgetsTenantsThatLeft) {
  FairQueue<std::string> queue;
  for (int i = 0; i < 100; ++i) queue.push(std::to_string(i), 1, 1, "x");
  drain(queue);
  EXPECT_EQ(queue.num_flows(), 0u);
}

}  // namespace
}  // namespace kvasir::tenancy
