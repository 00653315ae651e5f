#include "router/residents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace kvasir::router {
namespace {

using Stage = Residents::Stage;
using Deed = Residents::Deed;
using base::ErrorCode;

constexpr base::TimePoint kStart{};

bool yes(const std::string&) {
  return true;
}
bool no(const std::string&) {
  return false;
}

std::string said(const std::vector<Residents::Action>& actions) {
  std::string text;
  for (const Residents::Action& action : actions) {
    constexpr const char* kWords[] = {"fetch", "load", "stop", "release"};
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", kWords[static_cast<int>(action.deed)], action.name);
  }
  return text;
}

std::string next(Residents& residents) {
  return said(residents.next(kStart, yes, yes));
}

TEST(Residents, OneLoadsAtATimeInTheOrderOfTheFiles) {
  Residents residents({.budget_bytes = 100});
  residents.want("far", {.bytes = 10, .must_fetch = true});
  residents.want("near", {.bytes = 10});
  residents.want("next", {.bytes = 10});
  EXPECT_EQ(next(residents), "fetch far, load near");
  residents.fetched("far", 12);
  EXPECT_EQ(next(residents), "");
  EXPECT_TRUE(residents.loaded("near", 11));
  EXPECT_EQ(next(residents), "load next");
  residents.failed("next", {.message = "no"});
  EXPECT_EQ(next(residents), "load far, stop next");
  EXPECT_EQ(next(residents), "release next");
  residents.released("next");
  EXPECT_EQ(residents.stage("next"), Stage::failed);
  EXPECT_EQ(residents.error("next")->message, "no");
  EXPECT_EQ(residents.used_bytes(), 11 + 12);
}

// Models of the start may divide a GPU's memory, where none is ready before all of them are loaded.
TEST(Residents, ModelsOfTheStartLoadBesideEachOtherWhileAnotherWaits) {
  Residents residents({.budget_bytes = 100});
  residents.want("a", {.bytes = 10, .loads_beside = true});
  residents.want("b", {.bytes = 10, .must_fetch = true, .loads_beside = true});
  EXPECT_EQ(next(residents), "fetch b, load a");
  residents.want("c", {.bytes = 10});
  EXPECT_EQ(next(residents), "");
  residents.fetched("b", 10);
  EXPECT_EQ(next(residents), "load b");
  residents.loaded("a", 10);
  EXPECT_EQ(next(residents), "");
  residents.loaded("b", 10);
  EXPECT_EQ(next(residents), "load c");
}

TEST(Residents, ALoadTwiceIsOneLoad) {
  Residents residents({.budget_bytes = 100});
  for (int i = 0; i < 2; ++i) residents.want("m", {.bytes = 10, .must_fetch = true});
  EXPECT_EQ(next(residents), "fetch m");
  residents.want("m", {.bytes = 10, .must_fetch = true});
  EXPECT_EQ(next(residents), "");
  residents.fetched("m", 10);
  residents.want("m", {.bytes = 10});
  EXPECT_EQ(next(residents), "load m");
  residents.want("m", {.bytes = 10});
  residents.loaded("m", 10);
  residents.want("m", {.bytes = 10});
  EXPECT_EQ(next(residents), "");
}

TEST(Residents, APullOnlyFetchesUnlessALoadJoinsIt) {
  Residents residents({.budget_bytes = 100});
  residents.want("a", {.must_fetch = true, .loads = false});
  residents.want("b", {.must_fetch = true, .loads = false});
  EXPECT_EQ(next(residents), "fetch a, fetch b");
  EXPECT_FALSE(residents.is_coming("b"));
  residents.want("b", {.must_fetch = true});
  EXPECT_TRUE(residents.is_coming("b"));
  residents.fetched("a", 1);
  residents.fetched("b", 1);
  EXPECT_EQ(next(residents), "load b, stop a");
  EXPECT_EQ(next(residents), "release a");
  residents.released("a");
  EXPECT_EQ(residents.stage("a"), Stage::absent);
}

TEST(Residents, AModelLeavesOnceNobodyUsesItAndComesBack) {
  Residents residents({.budget_bytes = 100});
  residents.want("m", {.bytes = 10});
  next(residents);
  residents.loaded("m", 10);
  EXPECT_TRUE(residents.unwant("m"));
  EXPECT_EQ(said(residents.next(kStart, no, no)), "stop m");
  EXPECT_EQ(said(residents.next(kStart, no, no)), "");
  EXPECT_FALSE(residents.is_coming("m"));
  residents.want("m", {.bytes = 10});
  EXPECT_TRUE(residents.is_coming("m"));
  EXPECT_EQ(next(residents), "release m");
  residents.released("m");
  EXPECT_EQ(next(residents), "load m");
  EXPECT_FALSE(residents.unwant("other"));
}

TEST(Residents, WhatIsUnwantedWhileItLoadsIsReleased) {
  Residents residents({.budget_bytes = 100});
  residents.want("m", {.bytes = 10});
  next(residents);
  residents.unwant("m");
  EXPECT_FALSE(residents.loaded("m", 10));
  EXPECT_EQ(next(residents), "stop m");
  EXPECT_EQ(next(residents), "release m");
  residents.released("m");
  EXPECT_EQ(residents.stage("m"), Stage::absent);
}

TEST(Residents, TheLeastRecentlyUsedLeaveForOthers) {
  Residents residents({.budget_bytes = 30, .makes_room = true});
  for (const char* name : {"a", "b", "c"}) {
    residents.want(name, {.bytes = 10});
    next(residents);
    residents.loaded(name, 10);
  }
  residents.used("a");
  residents.want("d", {.bytes = 20});
  EXPECT_EQ(next(residents), "stop b, stop c");
  EXPECT_EQ(next(residents), "release b, release c");
  residents.released("b");
  EXPECT_EQ(next(residents), "");
  residents.released("c");
  EXPECT_EQ(next(residents), "load d");
}

TEST(Residents, ModelsInUseAreWaitedForAndThenItIsAnError) {
  Residents residents({.budget_bytes = 30, .makes_room = true, .max_wait = std::chrono::seconds(5)});
  residents.want("a", {.bytes = 20});
  next(residents);
  residents.loaded("a", 20);
  residents.want("b", {.bytes = 20});
  EXPECT_EQ(said(residents.next(kStart, no, no)), "");
  EXPECT_EQ(residents.deadline(), kStart + std::chrono::seconds(5));
  EXPECT_EQ(said(residents.next(kStart + std::chrono::seconds(5), no, no)), "stop b");
  EXPECT_EQ(residents.error("b")->code, ErrorCode::unavailable);
  EXPECT_EQ(residents.stage("a"), Stage::ready);
}

TEST(Residents, PinnedModelsAndOthersWithoutMakingRoomStay) {
  Residents pins({.budget_bytes = 30, .makes_room = true});
  pins.want("pin", {.bytes = 50, .stays = true, .ignores_budget = true});
  EXPECT_EQ(next(pins), "load pin");
  pins.loaded("pin", 20);
  pins.want("m", {.bytes = 20});
  EXPECT_EQ(next(pins), "stop m");
  EXPECT_EQ(next(pins), "release m");
  EXPECT_EQ(pins.error("m")->code, ErrorCode::conflict);
  EXPECT_NE(pins.error("m")->message.find("pin 0 MiB"), std::string::npos) << pins.error("m")->message;
  Residents fixed({.budget_bytes = 30});
  fixed.want("a", {.bytes = 20});
  next(fixed);
  fixed.loaded("a", 20);
  fixed.want("b", {.bytes = 20});
  next(fixed);
  EXPECT_EQ(fixed.error("b")->reason, "model_memory_full");
  fixed.want("c", {.bytes = 31});
  next(fixed);
  EXPECT_EQ(fixed.error("c")->reason, "model_too_large");
}

TEST(Residents, OneThatStaysComesBackThoughItIsLargerThanTheBudget) {
  Residents residents({.budget_bytes = 30});
  const auto leave = [&](const std::string& name) {
    residents.unwant(name);
    next(residents);
    next(residents);
    residents.released(name);
  };
  const Wish pin{.bytes = 50, .stays = true};
  residents.want("pin", {.bytes = 50, .stays = true, .ignores_budget = true});
  next(residents);
  residents.loaded("pin", 50);
  leave("pin");
  residents.want("m", {.bytes = 20});
  next(residents);
  residents.loaded("m", 20);
  residents.want("pin", pin);
  EXPECT_EQ(next(residents), "stop pin");
  EXPECT_EQ(residents.error("pin")->reason, "model_memory_full");  // the other one has to leave first
  leave("pin");
  leave("m");
  residents.want("pin", pin);
  EXPECT_EQ(next(residents), "load pin");
}

// Simulates hosts that carry out actions after a while, and requests that come and go. Checks every action
// against its own record.
class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed) {
    residents_.want("pin", {.bytes = 10, .stays = true, .ignores_budget = true});
  }

  void step() {
    const std::string name = kNames[pick(kNames.size())];
    switch (pick(8)) {
      case 0:
      case 1:
        residents_.want(name, {.bytes = bytes_of(name), .must_fetch = !here_.contains(name)});
        break;
      case 2:
        residents_.want(name, {.bytes = bytes_of(name), .must_fetch = !here_.contains(name), .loads = false});
        break;
      case 3:
        if (pick(3) == 0) residents_.unwant(name);
        break;
      case 4:
        if (taking_.contains(name)) ++uses_[name];
        break;
      case 5:
        if (uses_[name] > 0 && --uses_[name] == 0) residents_.used(name);
        break;
      case 6:
        end_fetch(name);
        break;
      case 7:
        end_load(name);
        break;
    }
    now_ += std::chrono::milliseconds(pick(200));
    act();
  }

  // Ends all requests and everything that is under way.
  void settle() {
    for (int i = 0; i < 200; ++i) {
      for (const std::string& name : kNames) {
        if (std::exchange(uses_[name], 0) > 0) residents_.used(name);
        end_fetch(name);
        end_load(name);
      }
      act();
    }
    for (const std::string& name : kNames) {
      const Stage stage = residents_.stage(name);
      EXPECT_TRUE(stage == Stage::absent || stage == Stage::ready || stage == Stage::failed) << name;
      EXPECT_EQ(stage == Stage::ready, loaded_.contains(name)) << name;
      EXPECT_EQ(taking_.contains(name), loaded_.contains(name)) << name;
    }
    EXPECT_TRUE(loading_.empty());
  }

 private:
  inline static const std::vector<std::string> kNames{"pin", "a", "b", "c", "d", "huge"};

  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  static std::int64_t bytes_of(const std::string& name) {
    return name == "huge" ? 1000 : name == "d" ? 25 : 10;
  }

  void end_fetch(const std::string& name) {
    if (fetching_.erase(name) == 0) return;
    if (pick(4) == 0) return residents_.failed(name, {.message = "no network"});
    here_.insert(name);
    residents_.fetched(name, bytes_of(name));
  }
  void end_load(const std::string& name) {
    if (loading_.erase(name) == 0) return;
    if (pick(4) == 0) return residents_.failed(name, {.message = "corrupt"});
    if (!residents_.loaded(name, bytes_of(name))) return;
    loaded_.insert(name);
    taking_.insert(name);
  }
  void act() {
    const auto is_idle = [this](const std::string& name) { return uses_[name] == 0; };
    for (const Residents::Action& action : residents_.next(now_, is_idle, is_idle)) carry_out(action);
  }
  void carry_out(const Residents::Action& action) {
    const std::string& name = action.name;
    switch (action.deed) {
      case Deed::fetch:
        EXPECT_FALSE(here_.contains(name));
        EXPECT_TRUE(fetching_.insert(name).second);
        break;
      case Deed::load: {
        EXPECT_TRUE(loading_.empty()) << name << " beside " << *loading_.begin();
        EXPECT_FALSE(loaded_.contains(name));
        loading_.insert(name);
        std::int64_t sum = bytes_of(name);
        for (const std::string& other : loaded_) sum += bytes_of(other);
        EXPECT_LE(sum, name == "pin" ? 1000 : 40);
        break;
      }
      case Deed::stop_taking:
        taking_.erase(name);
        break;
      case Deed::release:
        EXPECT_EQ(uses_[name], 0) << name << " left under its requests";
        EXPECT_FALSE(taking_.contains(name));
        loaded_.erase(name);
        loading_.erase(name);
        fetching_.erase(name);
        residents_.released(name);
        break;
    }
  }

  std::mt19937 random_;
  base::TimePoint now_{};
  Residents residents_{{.budget_bytes = 40, .makes_room = true, .max_wait = std::chrono::seconds(2)}};
  std::set<std::string> here_{"pin", "a"};
  std::set<std::string> fetching_;
  std::set<std::string> loading_;
  std::set<std::string> loaded_;
  std::set<std::string> taking_;  // new requests
  std::map<std::string, int> uses_;
};

TEST(Residents, HoldWhateverHappens) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (int i = 0; i < 300; ++i) world.step();
    world.settle();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kvasir::router
