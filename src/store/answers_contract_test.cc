#include "store/store_contract.h"

namespace kvasir::store {
namespace {

using base::ErrorCode;

TEST_P(StoreContract, AnswersFormChainsAndExpire) {
  Answers& answers = store_->answers();
  ASSERT_TRUE(answers.put({.id = "r1", .tenant = kTenant, .kind = "response", .body = "{}"}).ok());
  ASSERT_TRUE(answers
                  .put({.id = "r2",
                        .tenant = kTenant,
                        .kind = "response",
                        .previous_id = "r1",
                        .expires_ms = 100,
                        .input = "[1]",
                        .body = R"({"x":1})"})
                  .ok());
  const auto chain = answers.chain(key("r2"), 50, 10).value();
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].id, "r1");
  EXPECT_EQ(chain[1].input, "[1]");
  EXPECT_EQ(answers.chain(key("r2"), 50, 1).error().code, ErrorCode::too_large);
  EXPECT_EQ(answers.chain_ids(key("r2"), 50, 10).value(), (std::vector<std::string>{"r1", "r2"}));
  EXPECT_EQ(answers.chain_ids(key("r2"), 50, 1).error().code, ErrorCode::too_large);
  EXPECT_EQ(answers.chain_ids(key("r2"), 100, 10).error().code, ErrorCode::not_found);
  ASSERT_TRUE(
      answers
          .put(
              {.id = "r3", .tenant = kTenant, .previous_id = "r2", .input = std::string(kMaxChainBytes, ' ')})
          .ok());
  EXPECT_EQ(answers.chain(key("r3"), 50, 10).error().code, ErrorCode::too_large);
  EXPECT_EQ(answers.chain_ids(key("r3"), 50, 10)->size(), 3u);
  EXPECT_EQ(answers.find(key("r2"), 100).error().code, ErrorCode::not_found);
  EXPECT_EQ(answers.find({"other", "r1"}, 0).error().code, ErrorCode::not_found);
  EXPECT_EQ(answers.put({.id = "r1", .tenant = "other"}).error().code, ErrorCode::conflict);
  ASSERT_TRUE(answers.put({.id = "r1", .tenant = kTenant, .kind = "response", .body = "[2]"}).ok());
  reopen();
  Answers& again = store_->answers();
  EXPECT_EQ(again.find(key("r1"), 0)->body, "[2]");
  EXPECT_EQ(ids(again.list(kTenant, "response", {}).value()), "r2 r1");
  EXPECT_EQ(ids(again.list(kTenant, "chat.completion", {}).value()), "");
  EXPECT_EQ(again.remove_expired(99).value(), 0);
  EXPECT_EQ(again.remove_expired(100).value(), 1);
  ASSERT_TRUE(again.remove(key("r1")).ok());
  EXPECT_EQ(again.remove(key("r1")).error().code, ErrorCode::not_found);
}

TEST_P(StoreContract, AnswersInProgressBelongToTheirProcess) {
  ASSERT_TRUE(store_->answers()
                  .put({.id = "r1", .tenant = kTenant, .kind = "response", .state = AnswerState::in_progress})
                  .ok());
  ASSERT_TRUE(store_->answers()
                  .put({.id = "r2", .tenant = kTenant, .kind = "response", .state = AnswerState::in_progress})
                  .ok());
  const auto other = bed_->open();
  EXPECT_EQ(other->answers().find(key("r1"), 0)->state, AnswerState::in_progress);
  StoredAnswer ended{.id = "r1", .tenant = kTenant, .body = "{}"};
  EXPECT_EQ(other->answers().save(ended).error().code, ErrorCode::not_found);
  ASSERT_TRUE(store_->answers().save(ended).ok());
  EXPECT_EQ(store_->answers().find(key("r1"), 0)->state, AnswerState::complete);
  EXPECT_EQ(store_->answers().save(ended).error().code, ErrorCode::not_found);  // the answer is complete
  reopen();
  EXPECT_EQ(store_->answers().find(key("r1"), 0)->state, AnswerState::complete);
  EXPECT_EQ(store_->answers().find(key("r2"), 0)->state, AnswerState::interrupted);
}

TEST_P(StoreContract, SummariesAreKeptByTheirKey) {
  Summaries& summaries = store_->summaries();
  EXPECT_FALSE(summaries.find("k").value());
  ASSERT_TRUE(summaries.put({.key = "k", .text = "They met.", .created_ms = 3}).ok());
  ASSERT_TRUE(summaries.put({.key = "k", .text = "Another.", .created_ms = 4}).ok());
  reopen();
  EXPECT_EQ(store_->summaries().find("k").value()->text, "They met.");
}

}  // namespace
}  // namespace kvasir::store
