#include "api/http/wait/lobby.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::api {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;

class LobbyTest : public testing::Test {
 protected:
  std::unique_ptr<Lobby::Ticket> join(const std::string& flow, int priority = 0, int weight = 1,
                                      std::int64_t cost = 100) {
    return lobby_.join({.model = "m", .priority = priority, .flow = flow, .weight = weight, .cost = cost},
                       io_.get_executor());
  }

  // Returns the names of the flows in the order in which they become first.
  std::vector<std::string> order(std::vector<std::pair<std::string, std::unique_ptr<Lobby::Ticket>>> line) {
    std::vector<std::string> names;
    while (!line.empty()) {
      const auto first = std::ranges::find_if(line, [](const auto& one) { return one.second->is_first(); });
      EXPECT_NE(first, line.end());
      if (first == line.end()) break;
      names.push_back(first->first);
      line.erase(first);
    }
    return names;
  }

  asio::io_context io_;
  Lobby lobby_{8};
};

TEST_F(LobbyTest, OneFlowIsServedInTheOrderOfArrival) {
  const auto a = join("a");
  auto b = join("a");
  EXPECT_TRUE(a->is_first());
  EXPECT_FALSE(b->is_first());
}

TEST_F(LobbyTest, FlowsTakeTurnsByWeight) {
  std::vector<std::pair<std::string, std::unique_ptr<Lobby::Ticket>>> line;
  for (int i = 0; i < 3; ++i) line.emplace_back("flood", join("flood"));
  line.emplace_back("light", join("light"));
  for (int i = 0; i < 2; ++i) line.emplace_back("heavy", join("heavy", 0, 4));
  EXPECT_EQ(order(std::move(line)),
            (std::vector<std::string>{"flood", "light", "heavy", "heavy", "flood", "flood"}));
}

TEST_F(LobbyTest, HigherPrioritiesComeFirst) {
  std::vector<std::pair<std::string, std::unique_ptr<Lobby::Ticket>>> line;
  line.emplace_back("low", join("low", 0));
  line.emplace_back("high", join("high", 2));
  EXPECT_TRUE(lobby_.has_line("m", 2));
  EXPECT_FALSE(lobby_.has_line("m", 3));
  EXPECT_FALSE(lobby_.has_line("other", 0));
  EXPECT_EQ(order(std::move(line)), (std::vector<std::string>{"high", "low"}));
  EXPECT_FALSE(lobby_.has_line("m", 0));
}

TEST_F(LobbyTest, IsBounded) {
  std::vector<std::unique_ptr<Lobby::Ticket>> all;
  for (int i = 0; i < 8; ++i) all.push_back(join("a"));
  EXPECT_EQ(join("b"), nullptr);
  all.pop_back();
  EXPECT_NE(join("b"), nullptr);
}

TEST_F(LobbyTest, TheNextIsWokenWhenTheFirstLeaves) {
  auto first = join("a");
  const auto second = join("b");
  bool woken = false;
  asio::co_spawn(
      io_,
      [&]() -> asio::awaitable<void> {
        co_await second->wait(hours(1));
        woken = second->is_first();
      },
      asio::detached);
  io_.poll();
  EXPECT_FALSE(woken);
  first.reset();
  io_.poll();
  EXPECT_TRUE(woken);
}

}  // namespace
}  // namespace kvasir::api
