#include <gtest/gtest.h>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

class InputItemsTest : public ApiTest {
 protected:
  // Stores a response that continues the one stored before it.
  void put(const std::string& name, const std::string& input, const std::string& output) {
    store::StoredAnswer answer{.id = "resp_" + name,
                               .tenant = tenancy::anonymous().tenant,
                               .kind = "response",
                               .previous_id = previous_,
                               .created_ms = 1,
                               .input = input,
                               .body = R"({"output": )" + output + "}"};
    previous_ = answer.id;
    ASSERT_TRUE(store_->answers().put(answer).ok());
  }
  // Stores a response with the input "i_NAME_0" and "i_NAME_1", and the output "msg_NAME_0".
  void put(const std::string& name) {
    put(name, R"([{"id": "i_)" + name + R"(_0"}, {"id": "i_)" + name + R"(_1"}])",
        R"([{"id": "msg_)" + name + R"(_0"}])");
  }
  Reply list(const std::string& query) { return get("/v1/responses/" + previous_ + "/input_items" + query); }
  // Returns the ids of a page, "i_a_0 i_a_1", followed by " ..." if there are more.
  std::string ids(const std::string& query) {
    const Reply page = list(query);
    EXPECT_EQ(page.status, 200) << page.text;
    if (page.status != 200) return "";
    std::string all;
    for (const json::value& item : page.body.at("data").as_array())
      all += (all.empty() ? "" : " ") + std::string(item.at("id").as_string());
    return all + (page.body.at("has_more").as_bool() ? " ..." : "");
  }

  std::string previous_;
};

TEST_F(InputItemsTest, PagesGoThroughTheChainBothWays) {
  serve(says("x"));
  put("a");
  put("b");
  put("c");
  EXPECT_EQ(ids("?order=asc"), "i_a_0 i_a_1 msg_a_0 i_b_0 i_b_1 msg_b_0 i_c_0 i_c_1");
  EXPECT_EQ(ids(""), "i_c_1 i_c_0 msg_b_0 i_b_1 i_b_0 msg_a_0 i_a_1 i_a_0");
  EXPECT_EQ(ids("?limit=3"), "i_c_1 i_c_0 msg_b_0 ...");
  EXPECT_EQ(ids("?limit=3&after=msg_b_0"), "i_b_1 i_b_0 msg_a_0 ...");
  EXPECT_EQ(ids("?limit=3&after=msg_a_0"), "i_a_1 i_a_0");
  EXPECT_EQ(ids("?limit=2&after=msg_a_0"), "i_a_1 i_a_0");
  EXPECT_EQ(ids("?order=asc&limit=3&after=i_a_1"), "msg_a_0 i_b_0 i_b_1 ...");
  EXPECT_EQ(ids("?order=asc&after=i_a_1&before=i_b_1"), "msg_a_0 i_b_0");
  EXPECT_EQ(ids("?order=asc&limit=2&after=i_a_1&before=i_b_1"), "msg_a_0 i_b_0");
  EXPECT_EQ(ids("?order=asc&limit=1&before=i_b_1"), "i_a_0 ...");
  EXPECT_EQ(ids("?order=asc&after=i_b_1&before=i_a_1"), "");
  EXPECT_EQ(ids("?order=asc&after=i_a_1&before=i_a_1"), "");
  EXPECT_EQ(list("?after=nothing").status, 400);
  EXPECT_EQ(list("?before=nothing").status, 400);
  EXPECT_EQ(list("?after=nothing&before=i_a_1").status, 400);
}

// Some stored responses cannot be parsed, so a page that loads one fails.
TEST_F(InputItemsTest, APageLoadsNoMoreOfTheChainThanItShows) {
  serve(says("x"));
  put("a", "not JSON", "not JSON");
  put("b");
  put("c");
  EXPECT_EQ(ids("?limit=4"), "i_c_1 i_c_0 msg_b_0 i_b_1 ...");
  EXPECT_EQ(list("?limit=5").status, 500);
  previous_.clear();
  put("d");
  put("e", "not JSON", "[]");
  EXPECT_EQ(ids("?order=asc&limit=2"), "i_d_0 i_d_1 ...");
  EXPECT_EQ(list("?order=asc&limit=3").status, 500);
}

TEST_F(InputItemsTest, AReferenceIsLookedUpByThePageThatShowsIt) {
  serve(says("x"));
  put("a");
  put("b", R"([{"type": "item_reference", "id": "msg_gone_0"}, {"type": "item_reference", "id": "msg_a_0"}])",
      "[]");
  EXPECT_EQ(ids("?limit=1"), "msg_a_0 ...");
  EXPECT_FALSE(list("?limit=1").body.at("data").at(0).as_object().contains("type"));
  EXPECT_EQ(list("?limit=2").status, 404);
}

TEST_F(InputItemsTest, ACursorIsLookedForInABoundedPartOfTheChain) {
  serve(says("x"));
  put("a", "[\"" + std::string(store::kMaxChainBytes, 'x') + "\"]", "[]");
  put("b");
  EXPECT_EQ(ids("?limit=1"), "i_b_1 ...");
  EXPECT_EQ(list("?after=nothing").body.at("error").at("code"), "history_too_large");
}

}  // namespace
}  // namespace kvasir::api
