#include "router/residence.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <set>

#include "router/scripted_model.h"
#include "store/temp_folder.h"

namespace kvasir::router {
namespace {

using base::ErrorCode;
using Stage = Residents::Stage;

// What the hosts of a test are to do, and what they did.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  bool holds = false;            // loads wait until this is false
  std::set<std::string> broken;  // models that fail to load
  int num_loads = 0;
  int num_hosts = 0;  // that exist
};

class ScriptedHost final : public Host {
 public:
  ScriptedHost(std::string name, HostReports& reports, Script& script)
      : name_(std::move(name)), reports_(reports), script_(script) {
    const std::lock_guard lock(script_.mutex);
    ++script_.num_hosts;
  }
  ~ScriptedHost() override {
    stop();
    const std::lock_guard lock(script_.mutex);
    --script_.num_hosts;
  }
  void fetch() override { reports_.tell_fetched(name_, 10); }
  void load() override {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void stop() override {
    thread_.request_stop();
    script_.changed.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const std::stop_token& stop) {
    reports_.tell_state(name_, {.phase = Phase::loading});
    bool fails = false;
    {
      std::unique_lock lock(script_.mutex);
      ++script_.num_loads;
      script_.changed.notify_all();
      while (script_.holds && !stop.stop_requested())
        script_.changed.wait_for(lock, std::chrono::milliseconds(1));
      fails = script_.broken.contains(name_);
    }
    if (stop.stop_requested()) return;
    if (fails) return reports_.tell_failed(name_, {.code = ErrorCode::corrupt, .message = "bad file"});
    reports_.tell_ready(name_, scripted_model(std::make_shared<ScriptedWorker>()), {.weights = 10}, {});
  }

  const std::string name_;
  HostReports& reports_;
  Script& script_;
  std::jthread thread_;
};

class ScriptedLoader final : public Loader {
 public:
  explicit ScriptedLoader(Script& script) : script_(script) {}
  std::unique_ptr<Host> make_host(const hub::Model& model, HostReports& reports) override {
    return std::make_unique<ScriptedHost>(model.name, reports, script_);
  }
  std::int64_t estimate(const hub::Model&) const override { return 10; }

 private:
  Script& script_;
};

class ResidenceTest : public testing::Test {
 protected:
  ResidenceTest() {
    for (const char* name : {"pin", "a", "b", "c"})
      std::ofstream(folder_.path() / (std::string(name) + ".gguf")) << "x";
  }
  ~ResidenceTest() override {
    if (residence_) residence_->stop();
  }

  void start(Residence::Options options) {
    residence_ =
        std::make_unique<Residence>(std::move(options), Residence::Parts{router_, loader_, library_, clock_});
    residence_->add({library_.find_named("pin").value()});
    residence_->start();
    ASSERT_TRUE(becomes("pin", Phase::ready));
  }
  bool becomes(const std::string& name, Phase phase) {
    return eventually([&] { return residence_->standing(name).state.phase == phase; });
  }
  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  int num_loads() {
    const std::lock_guard lock(script_.mutex);
    return script_.num_loads;
  }
  int num_hosts() {
    const std::lock_guard lock(script_.mutex);
    return script_.num_hosts;
  }
  void hold(bool holds) {
    const std::lock_guard lock(script_.mutex);
    script_.holds = holds;
    script_.changed.notify_all();
  }

  store::TempFolder folder_;
  Script script_;
  ScriptedLoader loader_{script_};
  Router router_;
  base::FakeClock clock_;
  const hub::Library library_{hub::Catalogue::load("").value(), folder_.path()};
  std::unique_ptr<Residence> residence_;
};

TEST_F(ResidenceTest, LoadsUnloadsAndForgets) {
  start({.memory = {.budget_bytes = 100}});
  EXPECT_EQ(residence_->load("nobody").error().code, ErrorCode::not_found);
  hold(true);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(residence_->load("a").ok());
  ASSERT_TRUE(eventually([&] { return num_loads() == 2; }));  // pin and a
  ASSERT_TRUE(residence_->load("b").ok());
  EXPECT_EQ(residence_->standing("b").stage, Stage::waiting);
  hold(false);
  ASSERT_TRUE(becomes("a", Phase::ready) && becomes("b", Phase::ready));
  EXPECT_EQ(num_loads(), 3);
  ASSERT_TRUE(residence_->unload("a").ok());
  ASSERT_TRUE(becomes("a", Phase::unloaded));
  EXPECT_FALSE(router_.has("a"));
  EXPECT_EQ(num_hosts(), 2);
  EXPECT_TRUE(residence_->unload("a").ok());
  EXPECT_FALSE(residence_->unload("nobody").ok());
}

TEST_F(ResidenceTest, ALoadIsGivenUpAndAFailureIsKept) {
  start({.memory = {.budget_bytes = 100}});
  hold(true);
  ASSERT_TRUE(residence_->load("a").ok());
  ASSERT_TRUE(becomes("a", Phase::loading));
  ASSERT_TRUE(residence_->unload("a").ok());
  ASSERT_TRUE(becomes("a", Phase::unloaded));
  hold(false);
  script_.broken = {"b"};
  ASSERT_TRUE(residence_->load("b").ok());
  ASSERT_TRUE(eventually([&] { return residence_->standing("b").stage == Stage::failed; }));
  EXPECT_EQ(residence_->standing("b").error->message, "bad file");
  EXPECT_EQ(router_.chat_text("b").error().reason, "model_failed");
  EXPECT_EQ(num_hosts(), 1);
  EXPECT_TRUE(router_.chat_text("pin").ok());
}

TEST_F(ResidenceTest, AModelInUseLeavesAfterItsRequests) {
  start({.memory = {.budget_bytes = 100}});
  ASSERT_TRUE(residence_->load("a").ok());
  ASSERT_TRUE(becomes("a", Phase::ready));
  std::optional<ChatTextPtr> text = router_.chat_text("a").value();
  ASSERT_TRUE(residence_->unload("a").ok());
  ASSERT_TRUE(becomes("a", Phase::leaving));
  EXPECT_EQ(num_hosts(), 2);
  EXPECT_FALSE(router_.chat_text("a").ok());
  ASSERT_TRUE(residence_->load("a").ok());  // comes back after it has left
  text.reset();
  ASSERT_TRUE(becomes("a", Phase::ready));
  EXPECT_EQ(num_loads(), 3);
}

TEST_F(ResidenceTest, RequestsBringModelsAndIdleOnesMakeRoom) {
  start({.memory = {.budget_bytes = 20, .makes_room = true}, .loads_on_request = true, .max_waiting = 2});
  for (const char* name : {"a", "b", "c", "a"}) {
    ASSERT_TRUE(residence_->request(name).ok());
    ASSERT_TRUE(becomes(name, Phase::ready)) << name;
    EXPECT_EQ(num_hosts(), 2);
  }
  EXPECT_EQ(residence_->request("minilm").error().code, ErrorCode::not_found);  // its files are not here
  script_.broken = {"b"};
  ASSERT_TRUE(residence_->request("b").ok());
  ASSERT_TRUE(eventually([&] { return residence_->standing("b").stage == Stage::failed; }));
  EXPECT_EQ(residence_->request("b").error().reason, "model_failed");
  script_.broken.clear();
  clock_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(residence_->request("b").ok());
  ASSERT_TRUE(becomes("b", Phase::ready));
}

TEST_F(ResidenceTest, ThousandsOfUnknownNamesReadTheFolderOnceASecond) {
  start({.memory = {.budget_bytes = 100}, .loads_on_request = true});
  ASSERT_TRUE(residence_->request("a").ok());
  ASSERT_TRUE(becomes("a", Phase::ready));
  std::ofstream(folder_.path() / "new.gguf") << "x";
  for (int i = 0; i < 3; ++i)  // the folder was read a moment ago, and is not read again
    EXPECT_EQ(residence_->request("new").error().reason, "model_not_found");
  EXPECT_NE(residence_->request("neww").error().message.find("there is no model 'neww'"), std::string::npos);
  EXPECT_TRUE(residence_->find("new").ok());  // by name, the disk is read
  clock_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(residence_->request("new").ok());
  EXPECT_NE(residence_->request("neww").error().message.find("'new'"), std::string::npos);
}

TEST_F(ResidenceTest, WhoeverWaitsHearsOfChangesAndKeepsTheModel) {
  start({.memory = {.budget_bytes = 20, .makes_room = true}, .loads_on_request = true, .max_waiting = 1});
  std::atomic<int> num_changes = 0;
  auto watch = residence_->watch("a", Residence::Watcher::waiting_request, [&] { ++num_changes; });
  EXPECT_EQ(residence_->watch("b", Residence::Watcher::onlooker, [] {}), nullptr);
  ASSERT_TRUE(residence_->request("a").ok());
  ASSERT_TRUE(becomes("a", Phase::ready));
  EXPECT_GT(num_changes, 0);
  ASSERT_TRUE(residence_->request("b").ok());
  EXPECT_TRUE(residence_->standing("b").comes);
  EXPECT_EQ(residence_->standing("a").state.phase, Phase::ready);
  watch.reset();
  ASSERT_TRUE(becomes("b", Phase::ready));
}

}  // namespace
}  // namespace kvasir::router
