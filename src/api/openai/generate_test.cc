#include <gtest/gtest.h>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

std::string string_at(const json::value& value, const char* pointer) {
  boost::system::error_code code;
  const json::value* found = value.find_pointer(pointer, code);
  if (found == nullptr) return std::string("nothing at ") + pointer;
  return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
}

TEST_F(ApiTest, ChatAnswersInOpenAIsShape) {
  serve(says("Hé ✓"));
  const Reply reply = post("/v1/chat/completions", chat_body());
  ASSERT_EQ(reply.status, 200);
  EXPECT_TRUE(string_at(reply.body, "/id").starts_with("chatcmpl-"));
  EXPECT_EQ(string_at(reply.body, "/object"), "chat.completion");
  EXPECT_EQ(string_at(reply.body, "/model"), "m");
  EXPECT_EQ(string_at(reply.body, "/system_fingerprint"), "fp_test");
  EXPECT_TRUE(reply.body.at("created").is_int64());
  EXPECT_EQ(string_at(reply.body, "/choices/0/message/role"), "assistant");
  EXPECT_EQ(string_at(reply.body, "/choices/0/message/content"), "Hé ✓");
  EXPECT_EQ(string_at(reply.body, "/choices/0/finish_reason"), "stop");
  EXPECT_EQ(string_at(reply.body, "/choices/0/logprobs"), "null");
  const auto prompt = worker_->wait_for(0).request.prompt;
  EXPECT_EQ(reply.body.at("usage").at("prompt_tokens").to_number<std::size_t>(), prompt.size());
  EXPECT_EQ(string_at(reply.body, "/usage/completion_tokens"), "7");
  EXPECT_EQ(string_at(reply.body, "/usage/prompt_tokens_details/cached_tokens"), "2");
  EXPECT_TRUE(reply.headers.at("x-request-id").starts_with("req-"));
}

TEST_F(ApiTest, ChatTemplateMakesThePrompt) {
  serve(says("x"));
  post("/v1/chat/completions", chat_body());
  const auto tokenizer = router::byte_tokenizer();
  const auto prompt = worker_->wait_for(0).request.prompt;
  const std::string text = tokenizer->decode(prompt, text::SpecialOutput::keep);
  EXPECT_NE(text.find("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"), std::string::npos) << text;
  EXPECT_EQ(prompt.front(), 256);  // the control token, not its letters
}

TEST_F(ApiTest, StreamIsTheAnswerInPieces) {
  const std::string text = "Hé ✓, and so on.";
  serve(says(text, 3));
  const Reply reply = post("/v1/chat/completions",
                           chat_body(R"(, "stream": true, "stream_options": {"include_usage": true})"));
  ASSERT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.headers.at("content-type").starts_with("text/event-stream"));
  EXPECT_TRUE(reply.headers.contains("x-request-id"));
  const auto events = events_of(reply.text);
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(string_at(events[0], "/choices/0/delta/role"), "assistant");
  EXPECT_EQ(string_at(events[0], "/object"), "chat.completion.chunk");
  EXPECT_EQ(string_at(events[0], "/usage"), "null");
  std::string joined;
  for (std::size_t i = 1; i + 2 < events.size(); ++i) {
    joined += string_at(events[i], "/choices/0/delta/content");
    EXPECT_EQ(string_at(events[i], "/choices/0/finish_reason"), "null");
    EXPECT_EQ(string_at(events[i], "/id"), string_at(events[0], "/id"));
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(json::serialize(events[events.size() - 2].at("choices").at(0).at("delta")), "{}");
  EXPECT_EQ(string_at(events[events.size() - 2], "/choices/0/finish_reason"), "stop");
  EXPECT_EQ(string_at(events.back(), "/choices"), "[]");
  EXPECT_EQ(string_at(events.back(), "/usage/completion_tokens"), std::to_string(text.size()));
}

TEST_F(ApiTest, ChatLogprobs) {
  serve(says("é"));
  const Reply reply = post("/v1/chat/completions", chat_body(R"(, "logprobs": true, "top_logprobs": 2)"));
  const json::array& content = reply.body.at_pointer("/choices/0/logprobs/content").as_array();
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(json::serialize(content[0].at("bytes")), "[195]");
  EXPECT_EQ(json::serialize(content[1].at("bytes")), "[169]");
  EXPECT_EQ(content[0].at("logprob"), -0.5);
  EXPECT_EQ(string_at(content[0], "/top_logprobs/1/token"), "z");
  const auto streamed = events_of(
      post("/v1/chat/completions", chat_body(R"(, "stream": true, "logprobs": true, "top_logprobs": 2)"))
          .text);
  json::array joined;
  for (const json::value& event : streamed)
    if (const json::value* lines = event.at("choices").at(0).as_object().if_contains("logprobs");
        lines != nullptr && lines->is_object())
      for (const json::value& line : lines->at("content").as_array()) joined.push_back(line);
  EXPECT_EQ(json::value(joined), json::value(content));
}

TEST_F(ApiTest, CompletionsAnswerEveryPromptAndChoice) {
  serve([](const wire::GenerateRequest& request) {
    return says(std::string(1, static_cast<char>(request.prompt[0])) + "!")(request);
  });
  const Reply reply =
      post("/v1/completions", R"({"model": "m", "prompt": ["a", "b"], "n": 2, "seed": 9, "max_tokens": 5})");
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_TRUE(string_at(reply.body, "/id").starts_with("cmpl-"));
  EXPECT_EQ(string_at(reply.body, "/object"), "text_completion");
  for (int i = 0; i < 4; ++i) {
    const json::value& choice = reply.body.at("choices").at(static_cast<std::size_t>(i));
    EXPECT_EQ(choice.at("index"), i);
    EXPECT_EQ(string_at(choice, "/text"), i < 2 ? "a!" : "b!");
  }
  EXPECT_EQ(string_at(reply.body, "/usage/prompt_tokens"), "2");
  EXPECT_EQ(string_at(reply.body, "/usage/completion_tokens"), "8");
  const auto first = worker_->wait_for(0).request;
  EXPECT_EQ(first.sampling.seed, 9u);
  EXPECT_EQ(first.max_tokens, 5);
  EXPECT_NE(worker_->wait_for(1).request.sampling.seed, 9u);
  EXPECT_EQ(worker_->wait_for(2).request.sampling.seed, 9u);
}

TEST_F(ApiTest, CompletionLogprobsAreParallelArrays) {
  serve(says("aé"));
  const Reply reply = post("/v1/completions", R"({"model": "m", "prompt": [65, 66], "logprobs": 1})");
  const json::value& logprobs = reply.body.at_pointer("/choices/0/logprobs");
  EXPECT_NE(reply.text.find(R"("token_logprobs":[-0.5,-0.5,-0.5])"), std::string::npos) << reply.text;
  EXPECT_EQ(json::serialize(logprobs.at("text_offset")), "[0,1,1]");
  EXPECT_EQ(logprobs.at("top_logprobs").at(0).at("z"), -1.5);
  EXPECT_EQ(worker_->wait_for(0).request.prompt, (std::vector<TokenId>{65, 66}));
}

TEST_F(ApiTest, MaxTokensDefaultsTo16OrTheRestOfTheContext) {
  serve(says("x"), 100);
  post("/v1/completions", R"({"model": "m", "prompt": [1, 2, 3]})");
  EXPECT_EQ(worker_->wait_for(0).request.max_tokens, 16);
  post("/v1/completions", R"({"model": "m", "prompt": [1, 2, 3], "max_tokens": 100000})");
  EXPECT_EQ(worker_->wait_for(1).request.max_tokens, 97);
  post("/v1/chat/completions", chat_body());
  const wire::GenerateRequest chat = worker_->wait_for(2).request;
  EXPECT_EQ(chat.max_tokens, 100 - static_cast<int>(chat.prompt.size()));
}

TEST_F(ApiTest, StopStringCancelsTheSequence) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stop": ["END"])")));
  const auto asked = worker_->wait_for(0);
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("text EN")}}});
  TokenStream::send({{asked.stream,
                      {.tokens = router::byte_tokens("D and more"),
                       .usage = {.prompt_tokens = 1, .cached_tokens = 1, .output_tokens = 17}}}});
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  const json::value body = base::parse_json(response->body).value();
  EXPECT_EQ(string_at(body, "/choices/0/message/content"), "text ");
  EXPECT_EQ(string_at(body, "/choices/0/finish_reason"), "stop");
  EXPECT_EQ(string_at(body, "/usage/completion_tokens"), "8");
  EXPECT_EQ(string_at(body, "/usage/prompt_tokens_details/cached_tokens"), "1");
  EXPECT_TRUE(asked.stream->cancelled());
}

TEST_F(ApiTest, TheEngineIsToldWhoseRequestItIs) {
  serve(says("ok"));
  exchange(net::post_request("/v1/chat/completions", chat_body(R"(, "n": 2)"), "x-request-id: mine-7\r\n"));
  for (const std::size_t number : {0u, 1u}) {
    const wire::Origin origin = worker_->wait_for(number).request.origin;
    EXPECT_EQ(origin.request_id, "mine-7");
    EXPECT_EQ(origin.tenant, "address:127.0.0.1");
    EXPECT_EQ(origin.cache_namespace, "address:127.0.0.1");
    EXPECT_EQ(origin.weight, 1);
  }
}

// A model without a template gets a dialogue as plain text. Its answer must not go on with the user's turns.
TEST_F(ApiTest, AnswersOfAPlainDialogueEndBeforeTheNextTurn) {
  serve(says(" Blue.\nUser: And the sea?"));
  router::GeneratingModel plain = router::scripted_model(worker_);
  plain.text.chat_template = std::make_shared<const text::ChatTemplate>(text::ChatTemplate::dialogue());
  router_.set_ready("m", std::move(plain));
  const Reply reply = post("/v1/chat/completions", chat_body(R"(, "stop": ["x", "y", "z", "w"])"));
  EXPECT_EQ(string_at(reply.body, "/choices/0/message/content"), " Blue.");
  EXPECT_EQ(string_at(reply.body, "/choices/0/finish_reason"), "stop");
  const Reply whole = post("/v1/chat/completions", chat_body(R"(, "ignore_eos": true)"));
  EXPECT_EQ(string_at(whole.body, "/choices/0/message/content"), " Blue.\nUser: And the sea?");
}

TEST_F(ApiTest, ChoicesOfOneStepShareAWrite) {
  serve();
  net::LoopbackClient client(port_);
  client.send(
      net::post_request("/v1/completions", R"({"model": "m", "prompt": "p", "n": 2, "stream": true})"));
  const auto a = worker_->wait_for(0);
  const auto b = worker_->wait_for(1);
  client.read_until("\r\n\r\n");
  TokenStream::send(
      {{a.stream, {.tokens = router::byte_tokens("A")}}, {b.stream, {.tokens = router::byte_tokens("B")}}});
  const std::string size = client.read_until("\r\n");
  std::string chunk = size;
  while (chunk.find("\"B\"") == std::string::npos) chunk += client.read_until("\r\n");
  // Both events come in one chunk, unless pings came first.
  const std::size_t last_data = chunk.rfind("\"text\":\"A\"");
  ASSERT_NE(last_data, std::string::npos);
  EXPECT_EQ(chunk.find("\r\n", last_data), chunk.rfind("\r\n"));
}

TEST_F(ApiTest, PingsWhileNothingComes) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
  const std::string seen = client.read_until(": ping\n\n");
  EXPECT_TRUE(seen.starts_with("HTTP/1.1 200")) << seen;
  TokenStream::send({{worker_->wait_for(0).stream,
                      {.tokens = router::byte_tokens("late"), .finish = FinishReason::length}}});
  const std::string rest = client.read_until("[DONE]");
  EXPECT_NE(rest.find("late"), std::string::npos);
  EXPECT_NE(rest.find("\"finish_reason\":\"length\""), std::string::npos);
}

TEST_F(ApiTest, DisconnectCancelsStreamedOrNot) {
  serve();
  for (const char* more : {"", R"(, "stream": true)", R"(, "n": 3)"}) {
    static std::size_t number = 0;
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body(more)));
    const auto asked = worker_->wait_for(number);
    number += std::string_view(more).ends_with('3') ? 3 : 1;
    client.reset();
    EXPECT_TRUE(eventually([&] { return asked.stream->cancelled(); })) << more;
    EXPECT_TRUE(eventually([&] { return admission_.inside().sequences == 0; })) << more;
    EXPECT_TRUE(eventually([&] { return router_.models()[0].num_leases == 0; })) << more;
  }
}

TEST_F(ApiTest, TokensOfAClientThatLeftAreCounted) {
  serve();
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
    const auto asked = worker_->wait_for(0);
    TokenStream::send({{asked.stream,
                        {.tokens = router::byte_tokens("half"),
                         .usage = {.prompt_tokens = 9, .cached_tokens = 5, .output_tokens = 4}}}});
    client.read_until("half");
    client.reset();
    ASSERT_TRUE(eventually([&] { return asked.stream->cancelled(); }));
  }
  const auto counted = [&](const char* line) {
    return eventually([&] { return get("/metrics").text.find(line) != std::string::npos; });
  };
  EXPECT_TRUE(counted("llm_request_aborts_total{model=\"m\",class=\"unlimited\"} 1\n"));
  EXPECT_TRUE(counted("llm_tokens_total{model=\"m\",kind=\"output\"} 4\n"));
  EXPECT_TRUE(counted("llm_tokens_total{model=\"m\",kind=\"cached\"} 5\n"));
}

TEST_F(ApiTest, FailureOfASequenceEndsTheRequest) {
  serve();
  const base::Error failure{base::ErrorCode::internal, "the numbers went wrong"};
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body()));
    TokenStream::send({{worker_->wait_for(0).stream, {.error = failure}}});
    EXPECT_EQ(client.read_response()->status, 500);
  }
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
  TokenStream::send(
      {{worker_->wait_for(1).stream, {.tokens = router::byte_tokens("half"), .error = failure}}});
  const auto response = client.read_response();
  ASSERT_TRUE(response.has_value());
  const auto events = events_of(response->body);
  EXPECT_EQ(string_at(events.back(), "/error/message"), "the numbers went wrong");
  EXPECT_EQ(string_at(events.back(), "/error/type"), "server_error");
}

TEST_F(ApiTest, RefusalsOfTheWorkerAreAnswered) {
  serve();
  worker_->refuse_with({base::ErrorCode::exhausted, "the queue is full"});
  const Reply full = post("/v1/chat/completions", chat_body(R"(, "stream": true)"));
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(string_at(full.body, "/error/type"), "rate_limit_error");
  EXPECT_EQ(full.headers.at("retry-after"), "1");
  worker_->refuse_with({base::ErrorCode::too_large, "needs 9 blocks of 8"});
  const Reply large = post("/v1/chat/completions", chat_body());
  EXPECT_EQ(large.status, 400);
  EXPECT_EQ(string_at(large.body, "/error/code"), "context_length_exceeded");
}

TEST_F(ApiTest, AdmissionRefusesWhatIsTooMuch) {
  serve();
  const Reply reply = post("/v1/chat/completions", chat_body(R"(, "n": 9)"));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(string_at(reply.body, "/error/code"), "rate_limit_exceeded");
}

TEST_F(ApiTest, PromptTooLongNamesBothNumbers) {
  serve(says("x"), 20);
  for (const char* stream : {"", R"(, "stream": true)"}) {
    const Reply reply = post("/v1/completions", R"({"model": "m", "prompt": "0123456789012345678901234")" +
                                                    std::string(stream) + "}");
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(string_at(reply.body, "/error/code"), "context_length_exceeded");
    EXPECT_EQ(string_at(reply.body, "/error/param"), "prompt");
    EXPECT_NE(string_at(reply.body, "/error/message").find("20"), std::string::npos);
    EXPECT_NE(string_at(reply.body, "/error/message").find("25"), std::string::npos);
  }
}

TEST_F(ApiTest, LargePromptsAreTokenizedOffTheIoThread) {
  serve(says("done"), 200000);
  const std::string prompt(100000, 'a');
  const Reply reply = post("/v1/completions", R"({"model": "m", "prompt": ")" + prompt + "\"}");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(string_at(reply.body, "/usage/prompt_tokens"), "100000");
}

TEST_F(ApiTest, TokensOutsideTheVocabularyAreRefused) {
  serve(says("x"));
  EXPECT_EQ(string_at(post("/v1/completions", R"({"model": "m", "prompt": [999]})").body, "/error/param"),
            "prompt");
  EXPECT_EQ(string_at(post("/v1/chat/completions", chat_body(R"(, "logit_bias": {"999": 1})")).body,
                      "/error/param"),
            "logit_bias");
  EXPECT_EQ(string_at(post("/v1/completions", R"({"model": "m", "prompt": []})").body, "/error/param"),
            "prompt");
}

}  // namespace
}  // namespace kvasir::api
