#include "router/router.h"

#include <gtest/gtest.h>

#include "router/scripted_model.h"

namespace kvasir::router {
namespace {

using base::ErrorCode;

const kv::BlockChain kNoPrompt(kv::CacheScope{});

TEST(Router, UnknownModelNamesThoseThatAreThere) {
  Router router;
  router.add("small");
  router.add("large");
  const auto lease = router.chat_text("nope");
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, ErrorCode::not_found);
  EXPECT_EQ(lease.error().reason, "model_not_found");
  EXPECT_EQ(lease.error().field, "model");
  EXPECT_NE(lease.error().message.find("small, large"), std::string::npos);
}

TEST(Router, WhatIsOutOfReachIsNotThere) {
  Router router;
  for (const char* name : {"small", "large"}) {
    router.add(name);
    router.set_ready(name, scripted_model(std::make_shared<ScriptedWorker>(), 100));
  }
  const std::vector<std::string> names{"small"};
  const Reach reach{.models = names, .max_context = 40};
  const base::Error hidden = router.chat_text("large", reach).error();
  EXPECT_EQ(hidden.code, ErrorCode::not_found);
  EXPECT_EQ(hidden.message, "the model 'large' does not exist; this server has: small");
  const ChatTextPtr text = router.chat_text("small", reach).value();
  EXPECT_EQ(text->context_length, 40);
  EXPECT_TRUE(router.pick(*text, {kNoPrompt}).ok());
  ASSERT_EQ(router.models(reach).size(), 1u);
  EXPECT_EQ(common_text(*router.models(reach)[0].text).context_length, 40);
  EXPECT_EQ(router.chat_text("small", {.max_context = 400}).value()->context_length, 100);
  router.set_ready("small", scripted_model(std::make_shared<ScriptedWorker>(), 100));
  EXPECT_EQ(router.pick(*text, {kNoPrompt}).error().reason, "model_not_ready");
}

TEST(Router, AModelThatLeavesServesThoseWhoUseItAndNobodyElse) {
  Router router;
  router.add("m");
  std::vector<std::string> unused;
  router.on_unused([&unused](const std::string& name) { unused.push_back(name); });
  router.set_ready("m", scripted_model(std::make_shared<ScriptedWorker>()));
  std::optional<ChatTextPtr> text = router.chat_text("m").value();
  EXPECT_TRUE(router.in_use("m"));
  router.set_leaving("m");
  EXPECT_EQ(router.chat_text("m").error().reason, "model_not_ready");
  EXPECT_FALSE(router.generating("m").ok());
  {
    const auto lease = router.pick(**text, {kNoPrompt});
    ASSERT_TRUE(lease.ok());
    text.reset();
    EXPECT_TRUE(router.in_use("m"));
    EXPECT_TRUE(unused.empty());
  }
  EXPECT_FALSE(router.in_use("m"));
  EXPECT_EQ(unused, std::vector<std::string>{"m"});
  router.remove("m");
  EXPECT_FALSE(router.has("m"));
  EXPECT_EQ(router.chat_text("m").error().code, ErrorCode::not_found);
  router.add("m");
  router.set_ready("m", scripted_model(std::make_shared<ScriptedWorker>()));
  EXPECT_TRUE(router.chat_text("m").ok());
}

TEST(Router, ReadyModelsThatGenerate) {
  Router router;
  EXPECT_EQ(router.generating("any").error().message,
            "the model 'any' does not exist; this server has: none");
  router.add("broken");
  router.set_failed("broken", "bad");
  EXPECT_EQ(router.generating("any").error().reason, "model_failed");
  router.add("slow");
  EXPECT_EQ(router.generating("any").error().reason, "model_not_ready");
  router.add("small");
  router.set_ready("small", scripted_model(std::make_shared<ScriptedWorker>(), 100));
  const auto ready = router.generating("any", {.max_context = 40}).value();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0]->name, "small");
  EXPECT_EQ(ready[0]->context_length, 40);
  const std::vector<std::string> names{"slow"};
  EXPECT_EQ(router.generating("any", {.models = names}).error().reason, "model_not_ready");
  EXPECT_TRUE(router.has("slow", {.models = names}));
  EXPECT_FALSE(router.has("small", {.models = names}));
  EXPECT_FALSE(router.has("any"));
}

TEST(Router, ModelOnItsWayIsUnavailableWithATimeToTryAgain) {
  Router router;
  router.add("m");
  EXPECT_EQ(router.chat_text("m").error().code, ErrorCode::unavailable);
  router.set_state("m", {.phase = Phase::downloading, .progress = 0.42});
  const auto lease = router.chat_text("m");
  EXPECT_EQ(lease.error().code, ErrorCode::unavailable);
  EXPECT_NE(lease.error().message.find("42 %"), std::string::npos);
  EXPECT_GT(lease.error().retry_after_s, 0);
  router.set_failed("m", "no such file");
  EXPECT_NE(router.chat_text("m").error().message.find("no such file"), std::string::npos);
}

TEST(Router, LeaseCountsAsLoadUntilItDies) {
  Router router;
  router.add("m");
  router.set_ready("m", scripted_model(std::make_shared<ScriptedWorker>(), 77));
  {
    const ChatTextPtr text = router.chat_text("m").value();
    EXPECT_EQ(text->name, "m");
    EXPECT_EQ(text->context_length, 77);
    EXPECT_EQ(router.models()[0].num_leases, 0);
    WorkerLease lease = router.pick(*text, {kNoPrompt}).value();
    const WorkerLease moved = std::move(lease);
    EXPECT_EQ(router.models()[0].num_leases, 1);
  }
  EXPECT_EQ(router.models()[0].num_leases, 0);
}

TEST(Router, LeaseKeepsItsWorkerThoughTheModelFailed) {
  Router router;
  auto worker = std::make_shared<ScriptedWorker>();
  router.add("m");
  router.set_ready("m", scripted_model(worker));
  const ChatTextPtr text = router.chat_text("m").value();
  const WorkerLease lease = router.pick(*text, {kNoPrompt}).value();
  router.set_failed("m", "gone");
  EXPECT_FALSE(router.pick(*text, {kNoPrompt}).ok());
  EXPECT_EQ(&lease.worker(), worker.get());
}

TEST(Router, TokensOfAModelThatWasReplacedAreNotSentToTheNewOne) {
  Router router;
  router.add("m");
  router.set_ready("m", scripted_model(std::make_shared<ScriptedWorker>()));
  const ChatTextPtr old = router.chat_text("m").value();
  router.set_ready("m", scripted_model(std::make_shared<ScriptedWorker>()));
  EXPECT_EQ(router.pick(*old, {kNoPrompt}).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(router.pick(*router.chat_text("m").value(), {kNoPrompt}).ok());
}

ChatText text_alone() {
  GeneratingModel model = scripted_model(nullptr);
  return std::move(model.text);
}

TEST(Router, APoolHasOneTextAndManyWorkers) {
  Router router;
  router.add("m");
  auto a = std::make_shared<ScriptedWorker>(), b = std::make_shared<ScriptedWorker>();
  router.add_member("m", "a", a);  // the member comes before the text
  EXPECT_EQ(router.chat_text("m").error().reason, "model_not_ready");
  router.set_ready("m", GeneratingModel{.text = text_alone()});
  router.add_member("m", "b", b);
  router.add_member("other", "b", b);
  const ChatTextPtr text = router.chat_text("m").value();
  std::optional<WorkerLease> first(router.pick(*text, {kNoPrompt}).value());
  const WorkerLease second = router.pick(*text, {kNoPrompt}).value();
  EXPECT_NE(first->member(), second.member()) << "the one with fewer leases";
  EXPECT_EQ(&second.worker(), second.member() == "a" ? a.get() : b.get());

  a->set_report({.num_blocks = 10, .num_running = 1, .waiting = {{0, 2}}, .progressing = false});
  b->set_report({.num_blocks = 20, .num_running = 2, .waiting = {{0, 1}, {1, 1}}, .heartbeat_age_s = 3});
  const ModelStatus status = router.models()[0];
  ASSERT_EQ(status.members.size(), 2u);
  EXPECT_EQ(status.members[1].id, "b");
  EXPECT_EQ(status.members[1].num_leases, 1);
  EXPECT_EQ(status.num_leases, 2);
  EXPECT_EQ(status.report->num_blocks, 30);
  EXPECT_EQ(status.report->num_running, 3);
  EXPECT_EQ(status.report->waiting, (std::map<int, int>{{0, 3}, {1, 1}}));
  EXPECT_TRUE(status.report->progressing);
  EXPECT_FALSE(status.report->failed);
  EXPECT_EQ(status.report->heartbeat_age_s, 3);
}

TEST(Router, AMemberThatIsAvoidedOrGoneGetsNoLease) {
  Router router;
  router.add("m");
  router.set_ready("m", GeneratingModel{.text = text_alone()});
  EXPECT_EQ(router.chat_text("m").error().reason, "no_worker");
  EXPECT_FALSE(router.generating("m").ok());
  router.add_member("m", "a", std::make_shared<ScriptedWorker>());
  router.add_member("m", "b", std::make_shared<ScriptedWorker>());
  const ChatTextPtr text = router.chat_text("m").value();
  const std::vector<std::string> avoid{"a"};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(router.pick(*text, {.prompt = kNoPrompt, .avoid = avoid}).value().member(), "b");
  const WorkerLease lease = router.pick(*text, {.prompt = kNoPrompt, .avoid = avoid}).value();
  router.remove_member("m", "b");
  EXPECT_EQ(lease.member(), "b") << "the lease holds it";
  EXPECT_EQ(router.pick(*text, {kNoPrompt}).value().member(), "a");
  const base::Error none = router.pick(*text, {.prompt = kNoPrompt, .avoid = avoid}).error();
  EXPECT_EQ(none.code, ErrorCode::unavailable);
  EXPECT_EQ(none.reason, "no_worker");
  EXPECT_GT(none.retry_after_s, 0);
}

TEST(Router, TheLocalMemberGoesWithItsModelAndOthersStay) {
  Router router;
  router.add("m");
  router.set_ready("m", scripted_model(std::make_shared<ScriptedWorker>()));
  router.add_member("m", "far", std::make_shared<ScriptedWorker>());
  EXPECT_EQ(router.models()[0].members[0].id, kLocalMember);
  router.set_state("m", {.phase = Phase::restarting});
  EXPECT_FALSE(router.chat_text("m").ok());
  EXPECT_TRUE(router.models()[0].members.empty());
  router.set_ready("m", GeneratingModel{.text = text_alone()});
  EXPECT_EQ(router.pick(*router.chat_text("m").value(), {kNoPrompt}).value().member(), "far");
}

TEST(Router, ListsModelsInOrderWithTheirReports) {
  Router router;
  router.add("b");
  router.add("a");
  auto worker = std::make_shared<ScriptedWorker>();
  worker->set_report({.num_running = 3});
  router.set_ready("a", scripted_model(worker));
  const auto models = router.models();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "b");
  EXPECT_FALSE(models[0].report.has_value());
  EXPECT_EQ(name_of(models[0].state.phase), "queued");
  EXPECT_EQ(models[1].report->num_running, 3);
  EXPECT_EQ(name_of(models[1].state.phase), "ready");
}

}  // namespace
}  // namespace kvasir::router
