#include <gtest/gtest.h>

#include <cmath>

#include "api/embed_fixture.h"

namespace kvasir::api {
namespace {

// The vector of a text is (number of bytes, first byte, 0, 0).
double cosine(const std::string& a, const std::string& b) {
  const auto vector = [](const std::string& text) {
    return std::pair(static_cast<double>(text.size()), static_cast<double>(text.front()));
  };
  const auto [x, y] = vector(a);
  const auto [u, v] = vector(b);
  return (x * u + y * v) / (std::hypot(x, y) * std::hypot(u, v));
}

class RankingTest : public EmbedTest {
 protected:
  Reply rerank(const std::string& more, const std::string& path = "/v1/rerank") {
    return post(path, R"({"model": "e", "query": "ab", )" + more + "}");
  }
  Reply score(const std::string& texts) { return post("/v1/score", R"({"model": "e", )" + texts + "}"); }
  static std::vector<std::int64_t> order(const Reply& reply) {
    std::vector<std::int64_t> indices;
    for (const json::value& result : reply.body.at("results").as_array())
      indices.push_back(result.at("index").as_int64());
    return indices;
  }
};

TEST_F(RankingTest, TheLikestDocumentIsFirst) {
  const std::string documents = R"("documents": ["\u0001\u0001", "ab", {"text": "abcd"}])";
  const Reply reply = rerank(documents);
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(order(reply), (std::vector<std::int64_t>{1, 2, 0}));
  const json::array& results = reply.body.at("results").as_array();
  EXPECT_NEAR(results[0].at("relevance_score").to_number<double>(), 1, 1e-9);
  EXPECT_NEAR(results[1].at("relevance_score").to_number<double>(), cosine("ab", "abcd"), 1e-6);
  EXPECT_FALSE(results[0].as_object().contains("document"));
  EXPECT_EQ(reply.body.at("usage").at("total_tokens"), 2 + 2 + 2 + 4);
  EXPECT_EQ(reply.body.at_pointer("/meta/tokens/input_tokens"), 10);
  EXPECT_EQ(order(rerank(documents + R"(, "top_n": 1)")), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(order(rerank(documents + R"(, "top_n": 9)", "/rerank")).size(), 3u);
  const Reply whole = rerank(documents + R"(, "return_documents": true)", "/v2/rerank");
  EXPECT_EQ(whole.body.at_pointer("/results/1/document/text"), "abcd");
  EXPECT_TRUE(eventually([&] { return used().num_requests == 4; }));
  EXPECT_EQ(used().prompt_tokens, 40);
}

TEST_F(RankingTest, EqualDocumentsKeepTheirOrder) {
  EXPECT_EQ(order(rerank(R"("documents": ["x", "ab", "ab", "x"])")), (std::vector<std::int64_t>{1, 2, 0, 3}));
}

TEST_F(RankingTest, LongTextsAreCutOnlyWhereTheRequestSaysSo) {
  const std::string documents = R"("documents": ["ab", "abcdefghij"])";
  const Reply refused = rerank(documents);
  EXPECT_EQ(error_of(refused, "code"), "context_length_exceeded");
  EXPECT_EQ(error_of(refused, "param"), "documents[1]");
  EXPECT_EQ(rerank(documents + R"(, "truncate_prompt_tokens": -1)").body.at("usage").at("total_tokens"),
            2 + 2 + 8);
  EXPECT_EQ(rerank(documents + R"(, "max_tokens_per_doc": 1)").body.at("usage").at("total_tokens"),
            2 + 1 + 1);
  EXPECT_EQ(score(R"("text_1": "abc", "text_2": "abcdefghij", "truncate_prompt_tokens": 2)")
                .body.at("usage")
                .at("total_tokens"),
            4);
}

TEST_F(RankingTest, ScoresOfPairs) {
  const Reply one = score(R"("text_1": "ab", "text_2": "abcd")");
  ASSERT_EQ(one.status, 200) << one.text;
  ASSERT_EQ(one.body.at("data").as_array().size(), 1u);
  EXPECT_NEAR(one.body.at_pointer("/data/0/score").to_number<double>(), cosine("ab", "abcd"), 1e-6);
  const Reply many = score(R"("text_1": ["ab"], "text_2": ["abcd", "\u0001", "ab"])");
  ASSERT_EQ(many.body.at("data").as_array().size(), 3u);
  EXPECT_EQ(many.body.at_pointer("/data/2/index"), 2);
  EXPECT_NEAR(many.body.at_pointer("/data/1/score").to_number<double>(), cosine("ab", "\x01"), 1e-6);
  EXPECT_NEAR(many.body.at_pointer("/data/2/score").to_number<double>(), 1, 1e-9);
  EXPECT_EQ(many.body.at("usage").at("total_tokens"), 2 + 4 + 1 + 2);
  const Reply pairs = score(R"("text_1": ["ab", "\u0001"], "text_2": ["\u0001", "\u0001"])");
  EXPECT_NEAR(pairs.body.at_pointer("/data/0/score").to_number<double>(), cosine("ab", "\x01"), 1e-6);
  EXPECT_NEAR(pairs.body.at_pointer("/data/1/score").to_number<double>(), 1, 1e-9);
}

TEST_F(RankingTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(error_of(rerank(R"("documents": [])"), "param"), "documents");
  EXPECT_EQ(error_of(rerank(R"("documents": "x")"), "code"), "invalid_type");
  EXPECT_EQ(error_of(rerank(R"("documents": ["a", 7])"), "param"), "documents[1]");
  EXPECT_EQ(error_of(rerank(R"("documents": [{"title": "a"}])"), "param"), "documents[0].text");
  EXPECT_EQ(error_of(rerank(R"("documents": [""])"), "param"), "documents[0]");
  EXPECT_EQ(error_of(rerank(R"("documents": ["a"], "top_n": -1)"), "param"), "top_n");
  EXPECT_EQ(error_of(rerank(R"("documents": ["a"], "rank_fields": ["title"])"), "param"), "rank_fields");
  EXPECT_EQ(error_of(rerank(R"("documents": ["a"], "truncate_prompt_tokens": 0)"), "param"),
            "truncate_prompt_tokens");
  EXPECT_EQ(error_of(post("/rerank", R"({"model": "e", "documents": ["a"]})"), "param"), "query");
  std::string many = "\"a\"";
  for (int i = 0; i < 2048; ++i) many += ",\"a\"";
  EXPECT_EQ(error_of(rerank(R"("documents": [)" + many + "]"), "code"), "array_above_max_length");
  EXPECT_EQ(error_of(score(R"("text_1": ["a", "b"], "text_2": "c")"), "param"), "text_1");
  EXPECT_EQ(error_of(score(R"("text_1": "a", "text_2": ["c", ""])"), "param"), "text_2[1]");
  EXPECT_EQ(error_of(score(R"("text_1": "a")"), "param"), "text_2");
  const Reply chat = post("/v1/rerank", R"({"model": "m", "query": "a", "documents": ["b"]})");
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(error_of(chat, "code"), "model_not_supported");
}

TEST_F(RankingTest, CountAgainstTheLimits) {
  limit_callers({.requests_per_minute = 60, .tokens_per_minute = 10});
  EXPECT_EQ(rerank(R"("documents": ["abc", "de"])").headers.at("x-ratelimit-remaining-tokens"), "3");
  EXPECT_EQ(score(R"("text_1": "ab", "text_2": "cd")").status, 429);
  EXPECT_EQ(tokens_left(), 3);
}

TEST_F(RankingTest, TheModelSaysHowItScores) {
  EXPECT_EQ(get("/v1/models/e").body.at("score_method"), "cosine");
  EXPECT_FALSE(get("/v1/models/m").body.as_object().contains("score_method"));
}

}  // namespace
}  // namespace kvasir::api
