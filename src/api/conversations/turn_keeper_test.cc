#include <gtest/gtest.h>

#include <stdexcept>

#include "api/answer/server_tools/server_tools_fixture.h"

namespace kvasir::api {
namespace {

// Tests a worker that throws, as if it were out of memory, after the turn was stored.
class ThrownTurnTest : public ServerToolsTest {
 protected:
  Reply say_hi() {
    const Reply made = post("/v1/conversations", R"({"model": "m", "settings": {"server_tools": ["add"]}})");
    EXPECT_EQ(made.status, 200) << made.text;
    id_ = made.body.at("id").as_string();
    return post("/v1/conversations/" + id_ + "/messages", R"({"content": "hi"})");
  }
  // Returns the conversation's messages once all writes are over.
  std::vector<store::Message> stored() {
    api_.stop_storing();
    const store::Key key{tenancy::anonymous().tenant, id_};
    std::vector<std::string> ids;
    const std::vector<store::MessageNode> tree = store_->conversations().tree(key).value();
    for (const store::MessageNode& node : tree) ids.push_back(node.id);
    return store_->conversations().messages(key, ids).value();
  }

 private:
  std::string id_;
};

TEST_F(ThrownTurnTest, BeforeTheFirstTokenLeavesNoTrace) {
  serve([](const wire::GenerateRequest&) -> std::vector<wire::TokenEvent> {
    throw std::runtime_error("no memory");
  });
  EXPECT_EQ(say_hi().status, 500);
  EXPECT_TRUE(stored().empty());
}

TEST_F(ThrownTurnTest, AfterARoundOfToolsIsEndedAndTheRoundStays) {
  serve([](const wire::GenerateRequest& request) {
    if (prompt_text(request).find("<tool_response>") != std::string::npos)
      throw std::runtime_error("no memory");
    return says("Wait.\n" + call_of("add"), 7)(request);
  });
  EXPECT_EQ(say_hi().status, 500);
  const std::vector<store::Message> messages = stored();
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[1].status, store::MessageStatus::completed);
  EXPECT_EQ(messages[1].finish_reason, "tool_calls");
  EXPECT_EQ(messages[2].role, "tool");
  EXPECT_EQ(messages[3].status, store::MessageStatus::incomplete);
  EXPECT_EQ(messages[3].finish_reason, "error");
}

}  // namespace
}  // namespace kvasir::api
