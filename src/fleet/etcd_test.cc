#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <thread>

#include "fleet/base64.h"
#include "fleet/etcd_fixture.h"
#include "fleet/etcd_membership.h"
#include "fleet/etcd_registration.h"

namespace kvasir::fleet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Records the lists that a membership reports.
class Told {
 public:
  Membership::OnMembers listener() {
    return [this](const std::vector<WorkerPlace>& members) {
      const std::lock_guard lock(mutex_);
      ids_.clear();
      for (const WorkerPlace& place : members) ids_ += place.id + " ";
      ++num_times_;
      num_fewest_ = std::min(num_fewest_, members.size());
    };
  }
  std::string ids() const {
    const std::lock_guard lock(mutex_);
    return ids_;
  }
  int num_times() const {
    const std::lock_guard lock(mutex_);
    return num_times_;
  }
  // The fewest members since the last call.
  std::size_t num_fewest() {
    const std::lock_guard lock(mutex_);
    return std::exchange(num_fewest_, 1000);
  }
  bool becomes(const std::string& ids, milliseconds within = seconds(30)) const {
    return eventually([&] { return this->ids() == ids; }, within);
  }

 private:
  mutable std::mutex mutex_;
  std::string ids_ = "nothing yet";  // guarded by mutex_
  int num_times_ = 0;                // guarded by mutex_
  std::size_t num_fewest_ = 1000;    // guarded by mutex_
};

// Keeps a worker registered until it is killed. Another test starts this program again with only this test.
TEST(EtcdRegistrar, DISABLED_Runs) {
  const char* url = std::getenv("KVASIR_TEST_ETCD");
  ASSERT_NE(url, nullptr);
  EtcdOptions options;
  options.endpoints = {net::parse_url(url).value()};
  const EtcdRegistration registration(options, {.id = "child", .address = "127.0.0.1:9"});
  for (;;) ::pause();
}

class EtcdFleet : public EtcdTest {
 protected:
  std::unique_ptr<EtcdRegistration> worker(const std::string& id) {
    return std::make_unique<EtcdRegistration>(options(),
                                              WorkerPlace{.id = id, .address = "127.0.0.1:7" + id});
  }
};

TEST_F(EtcdFleet, WorkersComeAndGo) {
  Told told;
  const EtcdMembership membership(options(), told.listener());
  EXPECT_TRUE(told.becomes(""));
  auto b = worker("2");
  EXPECT_TRUE(told.becomes("2 "));
  auto a = worker("1");
  EXPECT_TRUE(told.becomes("1 2 "));
  b.reset();
  EXPECT_TRUE(told.becomes("1 ", seconds(2))) << "who leaves waits for no lease";
  EXPECT_EQ(told.num_times(), 4);
  Told late;
  const EtcdMembership another(options(), late.listener());
  EXPECT_TRUE(late.becomes("1 "));
}

TEST_F(EtcdFleet, AWorkerThatIsKilledIsGoneWithinItsLease) {
  ::setenv("KVASIR_TEST_ETCD", url().c_str(), 1);
  TestProcess child(
      {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=EtcdRegistrar.DISABLED_Runs"});
  Told told;
  const EtcdMembership membership(options(), told.listener());
  auto stays = worker("1");
  ASSERT_TRUE(told.becomes("1 child "));
  // The wait is longer than a lease, so the lease must have been renewed.
  EXPECT_FALSE(told.becomes("1 ", milliseconds(6500)));
  const auto killed = std::chrono::steady_clock::now();
  child.kill();
  ASSERT_TRUE(told.becomes("1 "));
  EXPECT_LT(std::chrono::steady_clock::now() - killed,
            seconds(8));  // etcd checks leases every half second
}

TEST_F(EtcdFleet, MembersStayWhileEtcdIsGone) {
  Told told;
  const EtcdMembership membership(options(), told.listener());
  auto a = worker("1"), b = worker("2");
  ASSERT_TRUE(told.becomes("1 2 "));
  told.num_fewest();
  stop_etcd();
  EXPECT_FALSE(told.becomes("", seconds(7))) << "longer than a lease";
  start_etcd();
  auto c = worker("3");
  EXPECT_TRUE(told.becomes("1 2 3 "));
  EXPECT_TRUE(eventually([&] { return a->registered() && b->registered(); }));
  b.reset();
  EXPECT_TRUE(told.becomes("1 3 "));
  EXPECT_GE(told.num_fewest(), 2u);
}

TEST_F(EtcdFleet, WorkersRegisterAgainWhenEtcdHasLostItsData) {
  Told told;
  const EtcdMembership membership(options(), told.listener());
  auto a = worker("1"), b = worker("2");
  ::setenv("KVASIR_TEST_ETCD", url().c_str(), 1);
  TestProcess child(
      {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=EtcdRegistrar.DISABLED_Runs"});
  ASSERT_TRUE(told.becomes("1 2 child "));
  told.num_fewest();
  stop_etcd();
  child.kill();  // no membership can see that
  lose_data();
  start_etcd();
  EtcdClient client(options());
  EXPECT_TRUE(eventually([&] {
    const auto range = client.range({});
    return range.ok() && range->entries.size() == 2;
  }));
  EXPECT_TRUE(told.becomes("1 2 ")) << "who does not register again is taken out in the end";
  EXPECT_EQ(told.num_fewest(), 2u) << "and nobody else was, meanwhile";
  b.reset();
  EXPECT_TRUE(told.becomes("1 "));
}

TEST_F(EtcdFleet, UsersHavePasswords) {
  const auto run = [this](const std::vector<std::string>& words) {
    std::string command = "ETCDCTL_API=3 etcdctl --endpoints " + url();
    for (const std::string& word : words) command += " '" + word + "'";
    return std::system((command + " >/dev/null 2>&1").c_str());
  };
  ASSERT_EQ(run({"user", "add", "root:secret"}), 0) << "is etcd-client installed?";
  ASSERT_EQ(run({"user", "grant-role", "root", "root"}), 0);
  ASSERT_EQ(run({"auth", "enable"}), 0);
  EtcdClient stranger(options());
  EXPECT_FALSE(stranger.range({}).ok());
  EtcdOptions known = options();
  known.user = "root";
  known.password = "wrong";
  EXPECT_FALSE(EtcdClient(known).range({}).ok());
  known.password = "secret";
  Told told;
  const EtcdMembership membership(known, told.listener());
  const EtcdRegistration registration(known, {.id = "1", .address = "127.0.0.1:1"});
  EXPECT_TRUE(told.becomes("1 "));
}

TEST_F(EtcdFleet, AnotherEndpointIsTriedWhenOneIsGone) {
  EtcdOptions several = options();
  several.endpoints.insert(several.endpoints.begin(),
                           net::parse_url("http://127.0.0.1:" + std::to_string(free_port())).value());
  EtcdClient client(several);
  EXPECT_TRUE(client.range({}).ok());
}

TEST(Base64, GoesThereAndBack) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
                                   std::string("\x00\xff\x10\x80", 4)})
    EXPECT_EQ(decode_base64(encode_base64(bytes)).value(), bytes);
  EXPECT_EQ(encode_base64("/k/a"), "L2svYQ==");
  for (const char* bad : {"a", "ab=c", "a?==", "===="}) EXPECT_FALSE(decode_base64(bad).ok()) << bad;
}

}  // namespace
}  // namespace kvasir::fleet
