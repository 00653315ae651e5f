#include "fleet/static_membership.h"

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>

#include "fleet/etcd_fixture.h"

namespace kvasir::fleet {
namespace {

TEST(MemberChanges, AMovedMemberHasLeftAndJoined) {
  const std::vector<WorkerPlace> before{{"a", "h:1"}, {"b", "h:2"}, {"c", "h:3"}};
  const std::vector<WorkerPlace> now{{"a", "h:1"}, {"c", "h:9"}, {"d", "h:4"}};
  const MemberChanges all = changes(before, now);
  EXPECT_EQ(all.left, (std::vector<WorkerPlace>{{"b", "h:2"}, {"c", "h:3"}}));
  EXPECT_EQ(all.joined, (std::vector<WorkerPlace>{{"c", "h:9"}, {"d", "h:4"}}));
  EXPECT_TRUE(changes(now, now).empty());
}

TEST(StaticMembership, FollowsItsFile) {
  const std::string path = testing::TempDir() + "/kvasir-workers-" + std::to_string(::getpid()) + ".toml";
  const auto write = [&path](const std::string& text) {
    const std::string other = path + ".new";
    std::ofstream(other) << text;
    std::filesystem::rename(other, path);
  };
  EXPECT_FALSE(StaticMembership::start(path, [](const auto&) {}).ok());
  write("[[worker]]\nid = \"b\"\naddress = \"h:2\"\n[[worker]]\naddress = \"h:1\"\nid = \"a\"\n");
  std::mutex mutex;
  std::vector<std::vector<WorkerPlace>> told;
  const auto last = [&] {
    const std::lock_guard lock(mutex);
    return told.back();
  };
  auto membership = StaticMembership::start(
      path,
      [&](const std::vector<WorkerPlace>& members) {
        const std::lock_guard lock(mutex);
        told.push_back(members);
      },
      std::chrono::milliseconds(2));
  ASSERT_TRUE(membership.ok());
  EXPECT_EQ(last(), (std::vector<WorkerPlace>{{"a", "h:1"}, {"b", "h:2"}}));
  write("[[worker]]\nid = \"b\"\n");  // a worker without an address: nothing changes
  write("[[worker]]\nid = \"b\"\naddress = \"h:3\"\n");
  EXPECT_TRUE(eventually([&] { return last() == std::vector<WorkerPlace>{{"b", "h:3"}}; }));
  std::filesystem::remove(path);
  write("[[worker]]\naddress = \"h:4\"\n");
  EXPECT_TRUE(eventually([&] { return last() == std::vector<WorkerPlace>{{"h:4", "h:4"}}; }));
  membership->reset();
  EXPECT_EQ(told.size(), 3u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kvasir::fleet
