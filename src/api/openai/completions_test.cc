#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

// A model that answers with the next of some texts. Each token has the logprob of its text.
class CompletionsTest : public ApiTest {
 protected:
  using ApiTest::ApiTest;

  void serve_texts(std::vector<std::pair<std::string, float>> texts) {
    serve([texts = std::move(texts), next = std::size_t{0}](const wire::GenerateRequest& request) mutable {
      const auto& [text, logprob] = texts[next++ % texts.size()];
      wire::TokenEvent event;
      if (request.num_prompt_logprobs)
        for (std::size_t i = 1; i < request.prompt.size(); ++i)
          event.prompt.push_back({request.prompt[i], wire::TokenLogprob{-2, {{request.prompt[i], -2}}}});
      event.tokens = router::byte_tokens(text);
      if (request.sampling.logprobs)
        for (wire::Token& token : event.tokens) token.logprob = wire::TokenLogprob{logprob, {}};
      event.usage = {.prompt_tokens = static_cast<int>(request.prompt.size())};
      event.usage.output_tokens = static_cast<int>(text.size());
      event.finish = wire::FinishReason::stop;
      return std::vector{event};
    });
  }
  Reply complete(const std::string& more) {
    return post("/v1/completions", R"({"model": "m", "prompt": "ab")" + more + "}");
  }
  static std::string text_of(const Reply& reply, std::size_t choice = 0) {
    return std::string(reply.body.at("choices").at(choice).at("text").as_string());
  }
};

TEST_F(CompletionsTest, EchoPutsThePromptFirst) {
  serve_texts({{"cd", -1}});
  EXPECT_EQ(text_of(complete(R"(, "echo": true)")), "abcd");
  EXPECT_EQ(text_of(post("/v1/completions", R"({"model": "m", "prompt": [104, 105], "echo": true})")),
            "hicd");
  const Reply several =
      post("/v1/completions", R"({"model": "m", "prompt": ["1", "2"], "n": 2, "echo": true})");
  EXPECT_EQ(text_of(several, 1), "1cd");
  EXPECT_EQ(text_of(several, 2), "2cd");
  std::string streamed;
  for (const json::value& event : events_of(complete(R"(, "echo": true, "stream": true)").text))
    streamed += event.at("choices").at(0).at("text").as_string();
  EXPECT_EQ(streamed, "abcd");
}

TEST_F(CompletionsTest, EchoedLogprobsBeginWithNone) {
  serve_texts({{"cd", -1}});
  const Reply reply = complete(R"(, "echo": true, "logprobs": 1)");
  EXPECT_EQ(json::serialize(reply.body.at("choices").at(0).at("logprobs")),
            R"({"tokens":["a","b","c","d"],"token_logprobs":[null,-2E0,-1E0,-1E0],)"
            R"("top_logprobs":[null,{"b":-2E0},{"c":-1E0},{"d":-1E0}],"text_offset":[0,1,2,3]})");
}

TEST_F(CompletionsTest, OffsetsAreThoseOfTheTextThatIsReturned) {
  serve_texts({{"c", -1}});
  const auto offsets = [&](const std::string& prompt) {
    const Reply reply =
        post("/v1/completions", R"({"model": "m", "echo": true, "logprobs": 0, "prompt": )" + prompt + "}");
    return text_of(reply) + " " +
           json::serialize(reply.body.at("choices").at(0).at("logprobs").at("text_offset"));
  };
  EXPECT_EQ(offsets(R"("<|im_start|>é<|im_end|>b")"), "<|im_start|>é<|im_end|>bc [0,12,12,13,23,24]");
  // Special tokens that the client sends as ids are not echoed.
  EXPECT_EQ(offsets("[256, 97, 257, 98]"), "abc [0,0,1,1,2]");
}

TEST_F(CompletionsTest, ThePromptAlone) {
  serve_texts({{"c", -1}});
  const Reply reply = complete(R"(, "echo": true, "logprobs": 0, "max_tokens": 0)");
  EXPECT_EQ(text_of(reply), "ab");
  EXPECT_EQ(reply.body.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(reply.body.at("choices").at(0).at("logprobs").at("tokens").as_array().size(), 2u);
  EXPECT_EQ(reply.body.at("usage").at("completion_tokens"), 0);
  EXPECT_EQ(complete(R"(, "max_tokens": 0)").status, 400);
}

TEST_F(CompletionsTest, BestOfGivesTheLikeliestByToken) {
  serve_texts({{"long one", -1}, {"b", -0.5f}, {"c", -3}});
  const Reply reply = complete(R"(, "best_of": 3, "n": 2)");
  ASSERT_EQ(reply.status, 200) << reply.text;
  ASSERT_EQ(reply.body.at("choices").as_array().size(), 2u);
  EXPECT_EQ(text_of(reply, 0), "b");
  EXPECT_EQ(text_of(reply, 1), "long one");
  EXPECT_EQ(reply.body.at("choices").at(1).at("index"), 1);
  EXPECT_TRUE(reply.body.at("choices").at(0).at("logprobs").is_null());
  EXPECT_EQ(reply.body.at("usage").at("completion_tokens"), 10);
  for (const char* wrong :
       {R"(, "best_of": 1, "n": 2)", R"(, "best_of": 2, "stream": true)", R"(, "best_of": 0)"})
    EXPECT_EQ(complete(wrong).status, 400) << wrong;
}

TEST_F(CompletionsTest, PromptLogprobsInTheFormOfVllm) {
  serve_texts({{"c", -1}});
  const Reply reply = complete(R"(, "prompt_logprobs": 1)");
  EXPECT_EQ(json::serialize(reply.body.at("choices").at(0).at("prompt_logprobs")),
            R"([null,{"98":{"logprob":-2E0,"rank":1,"decoded_token":"b"}}])");
  const Reply chat = post("/v1/chat/completions", chat_body(R"(, "prompt_logprobs": 0)"));
  EXPECT_GT(chat.body.at("prompt_logprobs").as_array().size(), 2u);
  EXPECT_EQ(complete(R"(, "prompt_logprobs": 1, "stream": true)").status, 400);
}

TEST_F(CompletionsTest, WhatIsIgnoredIsSaid) {
  serve_texts({{"c", -1}});
  const Reply reply =
      post("/v1/chat/completions",
           chat_body(R"(, "prediction": {"type": "content", "content": "x"}, "store": true)"));
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.at("warnings").as_array().size(), 2u);
  EXPECT_NE(reply.headers.at("x-kvasir-warning").find("ignored"), std::string::npos);
  const Reply stream = post("/v1/chat/completions", chat_body(R"(, "store": true, "stream": true)"));
  const auto events = events_of(stream.text);
  EXPECT_TRUE(events.back().at("choices").as_array().empty());
  EXPECT_NE(events.back().at("warnings").at(0).as_string().find("store"), std::string::npos);
  EXPECT_NE(stream.headers.at("x-kvasir-warning").find("store"), std::string::npos);
  EXPECT_FALSE(
      post("/v1/chat/completions", chat_body(R"(, "store": false)")).body.as_object().contains("warnings"));
}

TEST_F(CompletionsTest, FieldsThatDoNotChangeTheAnswer) {
  serve_texts({{"c", -1}});
  const Reply reply = post("/v1/chat/completions",
                           chat_body(R"(, "service_tier": "priority", "metadata": {"a": "b"}, "user": "u",
                                       "safety_identifier": "s", "prompt_cache_key": "k")"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(reply.body.at("service_tier"), "default");
  for (const char* wrong : {R"(, "service_tier": "first class")", R"(, "metadata": {"a": 1})",
                            R"(, "metadata": [])", R"(, "user": 1)", R"(, "prediction": 1)"})
    EXPECT_EQ(post("/v1/chat/completions", chat_body(wrong)).status, 400) << wrong;
}

// A server whose settings let the pages of one site call it.
class CorsTest : public CompletionsTest {
 protected:
  static ServiceOptions cors_options() {
    ServiceOptions options;
    options.cors_origins = {"https://chat.example"};
    return options;
  }
  CorsTest() : CompletionsTest(cors_options()) {}
};

TEST_F(CorsTest, APageOfANamedSiteIsTold) {
  serve_texts({{"c", -1}});
  const Reply preflight = exchange(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: x\r\nOrigin: https://chat.example\r\n"
      "Access-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: authorization,x-stainless-lang\r\n\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "https://chat.example");
  EXPECT_EQ(preflight.headers.at("access-control-allow-methods"), "POST");
  EXPECT_EQ(preflight.headers.at("access-control-allow-headers"), "authorization,x-stainless-lang");
  const std::string origin = "Origin: https://chat.example\r\n";
  for (const char* more : {"", R"(, "stream": true)", R"(, "n": 0)"}) {
    const Reply reply = exchange(net::post_request("/v1/chat/completions", chat_body(more), origin));
    EXPECT_EQ(reply.headers.at("access-control-allow-origin"), "https://chat.example") << more;
    EXPECT_EQ(reply.headers.at("vary"), "Origin");
  }
  // An error that occurs before any endpoint is called has the headers too.
  const Reply malformed = exchange("GET /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n" + origin +
                                   "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(malformed.status, 400);
  EXPECT_EQ(malformed.headers.at("access-control-allow-origin"), "https://chat.example");
  const Reply other = exchange(net::get_request("/v1/models", "Origin: https://other.example\r\n"));
  EXPECT_FALSE(other.headers.contains("access-control-allow-origin"));
}

TEST_F(CompletionsTest, WithoutASettingNoPageIsTold) {
  serve_texts({{"c", -1}});
  const Reply reply = exchange(net::get_request("/v1/models", "Origin: https://chat.example\r\n"));
  EXPECT_FALSE(reply.headers.contains("access-control-allow-origin"));
}

}  // namespace
}  // namespace kvasir::api
