#include <gtest/gtest.h>

#include <cmath>

#include "api/embed_fixture.h"

namespace kvasir::api {
namespace {

class EmbeddingsTest : public EmbedTest {
 protected:
  Reply embed(const std::string& input, const std::string& more = "") {
    return post("/v1/embeddings", R"({"model": "e", "input": )" + input + more + "}");
  }
};

TEST_F(EmbeddingsTest, EveryShapeOfInput) {
  const Reply one = embed(R"("abc")");
  ASSERT_EQ(one.status, 200) << one.text;
  EXPECT_EQ(json::serialize(one.body),
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[3E0,9.7E1,0E0,0E0]}],)"
            R"("model":"e","usage":{"prompt_tokens":3,"total_tokens":3}})");
  const Reply several = embed(R"(["ab", "c"])");
  EXPECT_EQ(several.body.at("data").at(1).at("index"), 1);
  EXPECT_EQ(several.body.at("data").at(1).at("embedding").at(1), 99.0);
  EXPECT_EQ(several.body.at("usage").at("prompt_tokens"), 3);
  EXPECT_EQ(embed("[7, 8]").body.at("data").at(0).at("embedding").at(1), 7.0);
  EXPECT_EQ(embed("[[7, 8], [9]]").body.at("data").at(1).at("embedding").at(1), 9.0);
  EXPECT_TRUE(eventually([&] { return used().num_requests == 4; }));
  EXPECT_EQ(used().prompt_tokens, 3 + 3 + 2 + 3);
}

TEST_F(EmbeddingsTest, Base64IsTheBytesOfTheFloats) {
  const Reply reply = embed(R"("abc")", R"(, "encoding_format": "base64")");
  EXPECT_EQ(reply.body.at("data").at(0).at("embedding"), "AABAQAAAwkIAAAAAAAAAAA==");
}

TEST_F(EmbeddingsTest, FewerDimensionsAreOfLengthOneAgain) {
  const json::value vector = embed(R"("abc")", R"(, "dimensions": 2)").body.at("data").at(0).at("embedding");
  ASSERT_EQ(vector.as_array().size(), 2u);
  EXPECT_NEAR(std::hypot(vector.at(0).as_double(), vector.at(1).as_double()), 1, 1e-6);
  EXPECT_NEAR(vector.at(1).as_double() / vector.at(0).as_double(), 97.0 / 3, 1e-3);
  EXPECT_EQ(error_of(embed(R"("abc")", R"(, "dimensions": 5)"), "param"), "dimensions");
}

TEST_F(EmbeddingsTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(error_of(embed(R"("123456789")"), "code"), "context_length_exceeded");
  EXPECT_EQ(error_of(embed(R"(["a", "123456789"])"), "param"), "input[1]");
  EXPECT_EQ(error_of(embed(R"("")"), "param"), "input");
  EXPECT_EQ(error_of(embed("[]"), "param"), "input");
  EXPECT_EQ(error_of(embed(R"(["a", ""])"), "param"), "input[1]");
  EXPECT_EQ(error_of(embed("[1, 2, 999]"), "param"), "input");
  EXPECT_EQ(error_of(embed("7"), "code"), "invalid_type");
  EXPECT_EQ(error_of(embed(R"("a")", R"(, "encoding_format": "int8")"), "param"), "encoding_format");
  EXPECT_EQ(error_of(post("/v1/embeddings", R"({"model": "e"})"), "code"), "missing_required_parameter");
  std::string many = "[\"a\"";
  for (int i = 0; i < 2048; ++i) many += ",\"a\"";
  EXPECT_EQ(error_of(embed(many + "]"), "code"), "array_above_max_length");
}

TEST_F(EmbeddingsTest, AModelIsForOneThing) {
  const Reply chat =
      post("/v1/chat/completions", R"({"model": "e", "messages": [{"role": "user", "content": "hi"}]})");
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(error_of(chat, "code"), "model_not_supported");
  EXPECT_EQ(error_of(chat, "param"), "model");
  const Reply embedding = post("/v1/embeddings", R"({"model": "m", "input": "x"})");
  EXPECT_EQ(embedding.status, 400);
  EXPECT_EQ(error_of(embedding, "code"), "model_not_supported");
}

TEST_F(EmbeddingsTest, TheModelIsListedWithItsLimits) {
  const Reply model = get("/v1/models/e");
  EXPECT_EQ(model.body.at("task"), "embed");
  EXPECT_EQ(model.body.at("limits").at("dimensions"), 4);
  EXPECT_EQ(model.body.at("capacity").at("waiting"), 3);
  EXPECT_EQ(post("/v1/tokenize", R"({"model": "e", "prompt": "ab"})").body.at("count"), 2);
  EXPECT_EQ(post("/v1/tokenize", R"({"model": "e", "messages": [{"role": "user", "content": "a"}]})").status,
            400);
}

TEST_F(EmbeddingsTest, ARefusalHasItsStatusAndLeavesNoRecord) {
  embedder_->refuse_with({base::ErrorCode::exhausted, "full", {}, "rate_limit_exceeded", 1});
  EXPECT_EQ(embed(R"("a")").status, 429);
  EXPECT_EQ(admission_.inside().sequences, 0);
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
  EXPECT_TRUE(eventually([&] { return used().num_requests > 0; }));
  EXPECT_EQ(used().num_requests, 1);
}

TEST_F(EmbeddingsTest, AClientThatLeavesIsNotComputedFor) {
  embedder_->hold();
  std::stop_token stop;
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/embeddings", R"({"model": "e", "input": "a"})"));
    stop = embedder_->wait_held();
  }
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return used().num_cancelled == 1; }));
  EXPECT_TRUE(eventually([&] { return admission_.inside().sequences == 0; }));
}

TEST_F(EmbeddingsTest, CountAgainstTheLimits) {
  limit_callers({.requests_per_minute = 60, .tokens_per_minute = 10});
  const Reply done = embed(R"(["abc", "de"])");
  ASSERT_EQ(done.status, 200);
  EXPECT_EQ(done.headers.at("x-ratelimit-remaining-tokens"), "5");
  EXPECT_EQ(done.headers.at("x-ratelimit-remaining-requests"), "59");
  const Reply refused = embed(R"("abcdef")");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after-ms"), "6000");
  embedder_->refuse_with({base::ErrorCode::unavailable, "gone"});
  EXPECT_EQ(embed(R"("abc")").status, 503);
  EXPECT_EQ(tokens_left(), 5);
}

TEST_F(EmbeddingsTest, AClientThatLeavesPaysForItsText) {
  limit_callers({.tokens_per_minute = 100});
  embedder_->hold();
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/embeddings", R"({"model": "e", "input": "abcd"})"));
    embedder_->wait_held();
  }
  EXPECT_TRUE(eventually([&] { return admission_.inside().sequences == 0; }));
  EXPECT_EQ(tokens_left(), 96);
}

TEST_F(EmbeddingsTest, Detokenizes) {
  EXPECT_EQ(post("/v1/detokenize", R"({"model": "m", "tokens": [104, 105]})").text, R"({"prompt":"hi"})");
  EXPECT_EQ(post("/detokenize", R"({"model": "e", "tokens": []})").text, R"({"prompt":""})");
  EXPECT_EQ(error_of(post("/v1/detokenize", R"({"model": "m", "tokens": [1, 999]})"), "param"), "tokens[1]");
  EXPECT_EQ(error_of(post("/v1/detokenize", R"({"model": "m"})"), "param"), "tokens");
}

TEST_F(EmbeddingsTest, ModerationsSayThatNothingWasLookedAt) {
  const Reply reply = post("/v1/moderations", R"({"input": ["a", "b"]})");
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.at("model"), "none");
  EXPECT_EQ(reply.body.at("results").as_array().size(), 2u);
  EXPECT_EQ(reply.body.at("results").at(0).at("flagged"), false);
  EXPECT_FALSE(reply.body.at("warnings").as_array().empty());
  const std::string parts = R"({"input": [{"type": "text", "text": "a"}, {"type": "image_url"}]})";
  EXPECT_EQ(post("/v1/moderations", parts).body.at("results").as_array().size(), 1u);
  for (const char* input : {"7", "[]", R"(["a", 1])", R"([{"text": "a"}])"})
    EXPECT_EQ(post("/v1/moderations", std::string(R"({"input": )") + input + "}").status, 400) << input;
}

}  // namespace
}  // namespace kvasir::api
