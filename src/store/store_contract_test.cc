#include "store/store_contract.h"

#include <algorithm>
#include <thread>

#include "store/sqlite_store.h"
#include "store/temp_folder.h"

namespace kvasir::store {
namespace {

using base::ErrorCode;

class SqliteBed final : public StoreBed {
 public:
  std::unique_ptr<Store> open() override {
    return SqliteStore::open(folder_.path() / "sub" / "kvasir.db").value();
  }

 private:
  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract,
                         testing::Values(StoreKind{"Sqlite", [] { return std::make_unique<SqliteBed>(); }}),
                         [](const auto& info) { return info.param.name; });

TEST_P(StoreContract, AConversationComesBackAsItWas) {
  Conversation made{.id = "conv_1",
                    .tenant = kTenant,
                    .created_ms = 5,
                    .updated_ms = 6,
                    .title = "Größe \xF0\x9F\x98\x80",
                    .model = "m",
                    .system_prompt = "Be brief.",
                    .settings = R"({"temperature":0})",
                    .metadata = R"({"a":"b"})"};
  ASSERT_TRUE(conversations().add(made).ok());
  reopen();
  const Conversation read = conversations().find(key("conv_1")).value();
  EXPECT_EQ(read.title, made.title);
  EXPECT_EQ(read.system_prompt, made.system_prompt);
  EXPECT_EQ(read.settings, made.settings);
  EXPECT_EQ(read.metadata, made.metadata);
  EXPECT_EQ(read.created_ms, 5);
  EXPECT_EQ(read.updated_ms, 6);
  EXPECT_EQ(read.active_leaf, "");
  EXPECT_EQ(conversations().add(made).error().code, ErrorCode::conflict);
}

TEST_P(StoreContract, ATenantSeesItsOwnOnly) {
  add_conversation("conv_1");
  append("conv_1", {message("msg_1")});
  const Key other{"other", "conv_1"};
  EXPECT_EQ(conversations().find(other).error().code, ErrorCode::not_found);
  EXPECT_EQ(conversations().tree(other).error().code, ErrorCode::not_found);
  EXPECT_EQ(conversations().remove(other).error().code, ErrorCode::not_found);
  EXPECT_EQ(conversations().append(other, {.messages = {message("msg_2")}}).error().code,
            ErrorCode::not_found);
  EXPECT_TRUE(conversations().list("other", {}).value().items.empty());
  EXPECT_EQ(conversations().list("other", {.after = "conv_1"}).error().code, ErrorCode::invalid_argument);
}

TEST_P(StoreContract, ListsPageInBothDirections) {
  for (const char* id : {"a", "b", "c", "d", "e"}) add_conversation(id);
  const auto page = [&](const PageQuery& query) { return ids(conversations().list(kTenant, query).value()); };
  EXPECT_EQ(page({.limit = 2}), "e d ...");
  EXPECT_EQ(page({.limit = 2, .after = "d"}), "c b ...");
  EXPECT_EQ(page({.limit = 2, .after = "b"}), "a");
  EXPECT_EQ(page({.limit = 2, .before = "b"}), "d c ...");
  EXPECT_EQ(page({.limit = 2, .before = "d"}), "e");
  EXPECT_EQ(page({.limit = 5, .order = Order::ascending}), "a b c d e");
  EXPECT_EQ(page({.limit = 2, .order = Order::ascending, .after = "b"}), "c d ...");
  EXPECT_EQ(page({.limit = 2, .order = Order::ascending, .before = "d"}), "b c ...");
  EXPECT_EQ(page({.limit = 9, .order = Order::ascending, .after = "a", .before = "d"}), "b c");
  ASSERT_TRUE(conversations().remove(key("c")).ok());
  EXPECT_EQ(page({}), "e d b a");
}

TEST_P(StoreContract, ChangesWhatIsSet) {
  add_conversation("conv_1");
  append("conv_1", {message("msg_1"), message("msg_2", "msg_1")});
  const auto changed =
      conversations().change(key("conv_1"), {.title = "New", .active_leaf = "msg_1", .now_ms = 9});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->title, "New");
  EXPECT_EQ(changed->updated_ms, 9);
  EXPECT_EQ(changed->active_leaf, "msg_1");
  EXPECT_EQ(conversations().change(key("conv_1"), {.active_leaf = "msg_9"}).error().code,
            ErrorCode::not_found);
  EXPECT_EQ(conversations().find(key("conv_1"))->title, "New");
}

TEST_P(StoreContract, MessagesComeBackAsTheyWere) {
  add_conversation("conv_1");
  Message answer = message("msg_2", "msg_1");
  answer.role = "assistant";
  answer.model = "m";
  answer.finish_reason = "stop";
  answer.prompt_tokens = 10;
  answer.cached_tokens = 8;
  answer.output_tokens = 3;
  answer.first_token_ms = 1.5;
  answer.total_ms = 20.25;
  answer.context = R"({"policy":"error"})";
  append("conv_1", {message("msg_1"), answer});
  reopen();
  const auto read = conversations().messages(key("conv_1"), {"msg_2", "msg_1"}).value();
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].parent_id, "msg_1");
  EXPECT_EQ(read[0].role, "assistant");
  EXPECT_EQ(read[0].finish_reason, "stop");
  EXPECT_EQ(read[0].prompt_tokens, 10);
  EXPECT_EQ(read[0].cached_tokens, 8);
  EXPECT_EQ(read[0].output_tokens, 3);
  EXPECT_EQ(read[0].cost, std::nullopt);
  EXPECT_EQ(read[0].first_token_ms, 1.5);
  EXPECT_EQ(read[0].total_ms, 20.25);
  EXPECT_EQ(read[0].context, answer.context);
  EXPECT_EQ(read[1].body, R"({"content":"hi"})");
  EXPECT_EQ(leaf("conv_1"), "msg_2");
  EXPECT_EQ(conversations().messages(key("conv_1"), {"msg_3"}).error().code, ErrorCode::not_found);
}

TEST_P(StoreContract, TheFirstTitleStays) {
  add_conversation("conv_1");
  ASSERT_TRUE(conversations().append(key("conv_1"), {.messages = {message("a")}, .title = "One"}).ok());
  ASSERT_TRUE(conversations().append(key("conv_1"), {.messages = {message("b", "a")}, .title = "Two"}).ok());
  EXPECT_EQ(conversations().find(key("conv_1"))->title, "One");
}

TEST_P(StoreContract, TwoWritersAfterOneLeafConflict) {
  add_conversation("conv_1");
  append("conv_1", {message("a")});
  const Append first{.messages = {message("b", "a")}, .expected_leaf = "a"};
  const Append second{.messages = {message("c", "a")}, .expected_leaf = "a"};
  EXPECT_TRUE(conversations().append(key("conv_1"), first).ok());
  const auto refused = conversations().append(key("conv_1"), second);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().reason, "conversation_changed");
  EXPECT_EQ(leaf("conv_1"), "b");
  append("conv_1", {message("c", "a")});  // without an expected leaf, the message is a branch
  EXPECT_EQ(leaf("conv_1"), "c");
}

TEST_P(StoreContract, WhatFollowsAnotherBranchLeavesTheActiveOne) {
  add_conversation("conv_1");
  append("conv_1", {message("a"), message("b", "a")});
  append("conv_1", {message("c", "a")});
  const Append late{.messages = {message("b2", "b")}, .only_follows = true};
  ASSERT_TRUE(conversations().append(key("conv_1"), late).ok());
  EXPECT_EQ(leaf("conv_1"), "c");
  const Append next{.messages = {message("c2", "c")}, .only_follows = true};
  ASSERT_TRUE(conversations().append(key("conv_1"), next).ok());
  EXPECT_EQ(leaf("conv_1"), "c2");
}

TEST_P(StoreContract, ManyThreadsLoseNothingAndWriteNothingTwice) {
  add_conversation("conv_1");
  append("conv_1", {message("root")});
  std::vector<std::thread> threads;
  std::atomic<int> num_appended = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string parent = leaf("conv_1");
        const Append one{.messages = {message("m" + std::to_string(t) + "_" + std::to_string(i), parent)},
                         .expected_leaf = parent};
        if (conversations().append(key("conv_1"), one).ok()) ++num_appended;
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto nodes = conversations().tree(key("conv_1")).value();
  ASSERT_EQ(static_cast<int>(nodes.size()), num_appended + 1);
  for (std::size_t i = 1; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].parent_id, nodes[i - 1].id);
}

TEST_P(StoreContract, NothingFollowsAMessageInProgress) {
  add_conversation("conv_1");
  append("conv_1", {message("a"), message("b", "a", MessageStatus::in_progress)});
  const auto busy = conversations().append(key("conv_1"), {.messages = {message("c", "b")}});
  EXPECT_EQ(busy.error().reason, "conversation_busy");
  Message end = message("b", "a");
  end.body = R"({"content":"done"})";
  ASSERT_TRUE(conversations().save(key("conv_1"), end).ok());
  append("conv_1", {message("c", "b")});
  EXPECT_EQ(conversations().messages(key("conv_1"), {"b"})->front().body, end.body);
  EXPECT_EQ(conversations().save(key("conv_1"), end).error().code, ErrorCode::not_found) << "it is over";
}

TEST_P(StoreContract, WhatADeadProcessWasGeneratingIsIncomplete) {
  add_conversation("conv_1");
  append("conv_1", {message("a"), message("b", "a", MessageStatus::in_progress)});
  Message part = message("b", "a", MessageStatus::in_progress);
  part.body = R"({"content":"so far"})";
  ASSERT_TRUE(conversations().save(key("conv_1"), part).ok());
  auto second = bed_->open();  // while the first store lives, it owns its message
  EXPECT_EQ(second->conversations().messages(key("conv_1"), {"b"})->front().status,
            MessageStatus::in_progress);
  EXPECT_FALSE(second->conversations().append(key("conv_1"), {.messages = {message("c", "b")}}).ok());
  store_ = std::move(second);
  append("conv_1", {message("c", "b")});
  const Message read = conversations().messages(key("conv_1"), {"b"})->front();
  EXPECT_EQ(read.status, MessageStatus::incomplete);
  EXPECT_EQ(read.finish_reason, "interrupted");
  EXPECT_EQ(read.body, part.body);
}

TEST_P(StoreContract, BranchesAndTheirWithdrawal) {
  add_conversation("conv_1");
  append("conv_1", {message("a"), message("b", "a")});
  append("conv_1", {message("a2"), message("b2", "a2")});
  std::string tree;
  const auto nodes = conversations().tree(key("conv_1")).value();
  for (const MessageNode& node : nodes) tree += node.parent_id + ">" + node.id + " ";
  EXPECT_EQ(tree, ">a a>b >a2 a2>b2 ");
  EXPECT_EQ(conversations().append(key("conv_1"), {.messages = {message("x", "nope")}}).error().code,
            ErrorCode::not_found);
  append("conv_1", {message("c", "b"), message("d", "c", MessageStatus::in_progress)});
  ASSERT_TRUE(conversations().withdraw(key("conv_1"), {"c", "d"}).ok());
  EXPECT_EQ(leaf("conv_1"), "b");
  EXPECT_EQ(conversations().tree(key("conv_1"))->size(), 4u);
  EXPECT_EQ(conversations().withdraw(key("conv_1"), {"c", "d"}).error().code, ErrorCode::not_found);
}

TEST_P(StoreContract, AWithdrawnTurnLeavesWhatOtherTurnsGoOnFrom) {
  add_conversation("conv_1");
  append("conv_1", {message("u0"), message("u1", "u0"), message("u2", "u1"),
                    message("a", "u2", MessageStatus::in_progress)});
  append("conv_1", {message("other", "u1")});
  ASSERT_TRUE(conversations().change(key("conv_1"), {.active_leaf = "a"}).ok());
  ASSERT_TRUE(conversations().withdraw(key("conv_1"), {"u0", "u1", "u2", "a"}).ok());
  const auto nodes = conversations().tree(key("conv_1")).value();
  std::string tree;
  for (const MessageNode& node : nodes) tree += node.parent_id + ">" + node.id + " ";
  EXPECT_EQ(tree, ">u0 u0>u1 u1>other ");
  EXPECT_EQ(leaf("conv_1"), "u1");
}

TEST_P(StoreContract, AFailedTurnDoesNotRemoveAnotherAnswerToItsQuestion) {
  add_conversation("conv_1");
  append("conv_1", {message("m1"), message("m2", "m1", MessageStatus::in_progress)});
  append("conv_1", {message("m3", "m1")});
  ASSERT_TRUE(conversations().withdraw(key("conv_1"), {"m1", "m2"}).ok());
  EXPECT_EQ(conversations().tree(key("conv_1"))->size(), 2u);
  EXPECT_TRUE(conversations().messages(key("conv_1"), {"m1", "m3"}).ok());
  EXPECT_EQ(leaf("conv_1"), "m3");
}

TEST_P(StoreContract, ATurnWhoseQuestionWasTakenOutIsWithdrawn) {
  add_conversation("conv_1");
  append("conv_1", {message("a"), message("b", "a")});
  append("conv_1", {message("m1", "b"), message("m2", "m1", MessageStatus::in_progress)});
  ASSERT_TRUE(conversations().take_out(key("conv_1"), "m1").ok());
  ASSERT_TRUE(conversations().withdraw(key("conv_1"), {"m1", "m2"}).ok());
  EXPECT_EQ(conversations().tree(key("conv_1"))->size(), 2u);
  EXPECT_EQ(leaf("conv_1"), "b");
  append("conv_1", {message("m3", "b")});  // the conversation is not busy
}

TEST_P(StoreContract, RemovingAConversationRemovesItsMessages) {
  add_conversation("conv_1");
  append("conv_1", {message("a")});
  ASSERT_TRUE(conversations().remove(key("conv_1")).ok());
  EXPECT_EQ(conversations().tree(key("conv_1")).error().code, ErrorCode::not_found);
  add_conversation("conv_2");
  append("conv_2", {message("a")});  // the id is free again
}

TEST_P(StoreContract, OneMessageIsRewrittenOrTakenOut) {
  add_conversation("conv_1");
  append("conv_1", {message("a"), message("b", "a"), message("c", "b")});
  ASSERT_TRUE(conversations().rewrite(key("conv_1"), "b", R"({"content":"new"})").ok());
  EXPECT_EQ(conversations().messages(key("conv_1"), {"b"}).value()[0].body, R"({"content":"new"})");
  ASSERT_TRUE(conversations().take_out(key("conv_1"), "b").ok());
  EXPECT_EQ(conversations().messages(key("conv_1"), {"c"}).value()[0].parent_id, "a");
  ASSERT_TRUE(conversations().take_out(key("conv_1"), "c").ok());
  EXPECT_EQ(conversations().find(key("conv_1"))->active_leaf, "a");
  ASSERT_TRUE(conversations().take_out(key("conv_1"), "a").ok());
  EXPECT_EQ(conversations().find(key("conv_1"))->active_leaf, "");
  EXPECT_EQ(conversations().take_out(key("conv_1"), "a").error().code, ErrorCode::not_found);
  Message running = message("d");
  running.status = MessageStatus::in_progress;
  append("conv_1", {running});
  EXPECT_EQ(conversations().take_out(key("conv_1"), "d").error().reason, "conversation_busy");
  EXPECT_EQ(conversations().rewrite(key("conv_1"), "d", "{}").error().reason, "conversation_busy");
  EXPECT_EQ(conversations().rewrite({"other", "conv_1"}, "d", "{}").error().code, ErrorCode::not_found);
}

TEST_P(StoreContract, PagesOfLargeRecordsEndEarly) {
  const std::string half(kMaxPageBytes / 2 + 1, 'x');
  for (const char* id : {"c1", "c2", "c3", "c4", "c5"})
    ASSERT_TRUE(conversations().add({.id = id, .tenant = kTenant, .system_prompt = half}).ok());
  PageQuery query{.limit = 100, .order = Order::ascending};
  std::vector<std::string> pages;
  while (true) {
    const auto page = conversations().list(kTenant, query).value();
    pages.push_back(ids(page));
    if (!page.has_more) break;
    query.after = page.items.back().id;
  }
  EXPECT_EQ(pages, (std::vector<std::string>{"c1 c2 ...", "c3 c4 ...", "c5"}));
  const auto before = conversations().list(kTenant, {.limit = 9, .order = Order::ascending, .before = "c4"});
  EXPECT_EQ(ids(before.value()), "c2 c3 ...");
}

TEST_P(StoreContract, MessagesBeyondAPagesBytesAreLeftOut) {
  add_conversation("conv_1");
  std::vector<Message> sent = {message("a"), message("b", "a"), message("c", "b")};
  for (Message& each : sent) each.body = std::string(kMaxPageBytes / 2 + 1, 'x');
  append("conv_1", sent);
  const std::vector<std::string> all = {"c", "b", "a"};
  EXPECT_EQ(conversations().messages(key("conv_1"), all)->size(), 3u);
  const auto first = conversations().first_messages(key("conv_1"), all).value();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].id, "c");
  EXPECT_EQ(first[1].id, "b");
}

}  // namespace
}  // namespace kvasir::store
