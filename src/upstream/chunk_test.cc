#include "upstream/chunk.h"

#include <gtest/gtest.h>

#include <string>

#include "upstream/failure.h"
#include "upstream/reported_load.h"

namespace kvasir::upstream {
namespace {

using base::ErrorCode;

TEST(ReadChunk, takes_text_reasoning_calls_and_the_end) {
  auto chunk = read_chunk(R"({"choices":[{"index":1,"delta":{"role":"assistant","content":"hé",
      "reasoning":"why","tool_calls":[{"index":2,"id":"c","function":{"name":"f","arguments":"{\"a\""}}]},
      "finish_reason":"tool_calls","stop_reason":"END"}],"usage":null})",
                          2);
  ASSERT_TRUE(chunk.ok()) << chunk.error().message;
  ASSERT_EQ(chunk->choices.size(), 1u);
  const SaidChoice& choice = chunk->choices[0];
  EXPECT_EQ(choice.index, 1);
  EXPECT_EQ(choice.text, "hé");
  EXPECT_EQ(choice.reasoning, "why");
  ASSERT_EQ(choice.calls.size(), 1u);
  EXPECT_EQ(choice.calls[0].index, 2);
  EXPECT_EQ(choice.calls[0].name, "f");
  EXPECT_EQ(choice.calls[0].arguments, "{\"a\"");
  EXPECT_EQ(choice.finish, "tool_calls");
  EXPECT_EQ(choice.stop_string, "END");
  EXPECT_FALSE(chunk->usage);
}

TEST(ReadChunk, takes_a_role_alone_and_usage_alone) {
  EXPECT_TRUE(
      read_chunk(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})", 1)->empty());
  const auto usage = read_chunk(
      R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":99}}})",
      1);
  EXPECT_EQ(usage->usage->prompt_tokens, 7);
  EXPECT_EQ(usage->usage->output_tokens, 3);
  EXPECT_EQ(usage->usage->cached_tokens, 7) << "never more than the prompt";
}

TEST(ReadChunk, takes_logprobs_of_both_forms) {
  const auto chat = read_chunk(
      R"({"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.5,"top_logprobs":[{"token":"b","logprob":-1}]}]}}]})",
      1);
  ASSERT_EQ(chat->choices[0].tokens.size(), 1u);
  EXPECT_FLOAT_EQ(chat->choices[0].tokens[0].logprob, -0.5f);
  EXPECT_EQ(chat->choices[0].tokens[0].top[0].first, "b");
  const auto completion = read_chunk(
      R"({"choices":[{"text":"ab","logprobs":{"tokens":["a","b"],"token_logprobs":[null,-2],"top_logprobs":[null,{"c":-3}]}}]})",
      1);
  ASSERT_EQ(completion->choices[0].tokens.size(), 2u);
  EXPECT_FALSE(completion->choices[0].tokens[0].has_logprob);
  EXPECT_EQ(completion->choices[0].tokens[1].top[0].first, "c");
}

TEST(ReadChunk, refuses_what_is_no_event_of_the_answer) {
  for (const char* data :
       {"", "nonsense", "[]", "3", "{}", R"({"choices":[3]})", R"({"choices":[{"index":1}]})",
        R"({"choices":[{"index":-1}]})", R"({"choices":[{"index":"0"}]})",
        "{\"choices\":[{\"text\":\"\xff\"}]}", R"({"choices":[{"delta":{"tool_calls":[{"index":99999}]}}]})",
        R"({"choices":[{"delta":{"tool_calls":["x"]}}]})"}) {
    const auto chunk = read_chunk(data, 1);
    ASSERT_FALSE(chunk.ok()) << data;
    EXPECT_EQ(chunk.error().code, ErrorCode::corrupt) << data;
  }
}

TEST(ReadChunk, odd_values_say_nothing) {
  const auto chunk = read_chunk(
      R"({"choices":[{"index":0,"delta":{"content":7,"tool_calls":"x"},"logprobs":3,"finish_reason":false}],
          "usage":{"prompt_tokens":-5,"completion_tokens":1e300}})",
      1);
  ASSERT_TRUE(chunk.ok()) << chunk.error().message;
  EXPECT_TRUE(chunk->choices.empty());
  EXPECT_EQ(chunk->usage->prompt_tokens, 0);
  EXPECT_GT(chunk->usage->output_tokens, 0) << "bounded";
}

TEST(ReadChunk, tells_the_upstreams_own_errors_apart) {
  for (const char* data : {R"({"error":{"message":"out of memory"}})", R"({"error":"out of memory"})",
                           R"({"object":"error","message":"out of memory"})"}) {
    const auto chunk = read_chunk(data, 1);
    ASSERT_FALSE(chunk.ok());
    EXPECT_EQ(chunk.error().code, ErrorCode::unavailable);
    EXPECT_EQ(chunk.error().message, "out of memory");
  }
}

TEST(ReportedLoad, sums_what_runs_and_waits) {
  EXPECT_EQ(reported_load("# HELP x\nvllm:num_requests_running{model_name=\"a b\"} 3.0\n"
                          "vllm:num_requests_waiting{model_name=\"a\"} 2\nother 7\n"),
            5);
  EXPECT_EQ(reported_load("llamacpp:requests_processing 1\nllamacpp:requests_deferred 4"), 5);
  EXPECT_EQ(reported_load("sglang:num_running_reqs{a=\"}\"} 1\nsglang:num_queue_reqs 0 1700000000"), 1);
  EXPECT_EQ(reported_load("llm_sequences_running{model=\"m\"} 2\nllm_queue_depth{model=\"m\"} 1"), 3);
}

TEST(ReportedLoad, knows_what_it_does_not_know) {
  for (const char* text :
       {"", "\n\n", "process_cpu 3", "vllm:num_requests_running", "vllm:num_requests_running{",
        "vllm:num_requests_running NaN", "vllm:num_requests_running -3"})
    EXPECT_EQ(reported_load(text), std::nullopt) << text;
}

TEST(FailureOfStatus, says_whose_fault_it_was) {
  using Says = Failure::Says;
  const auto of = [](int status, std::string_view body = "", std::string_view retry = "") {
    return failure_of_status("u", status, body, retry);
  };
  const Failure wrong =
      of(400, R"({"error":{"message":"too long","code":"context_length_exceeded","param":"messages"}})");
  EXPECT_EQ(wrong.error.code, ErrorCode::invalid_argument);
  EXPECT_EQ(wrong.error.reason, "context_length_exceeded");
  EXPECT_NE(wrong.error.message.find("too long"), std::string::npos);
  EXPECT_EQ(wrong.says, Says::nothing);
  EXPECT_FALSE(wrong.may_retry);
  EXPECT_EQ(of(422, "plain words").error.code, ErrorCode::invalid_argument);
  EXPECT_EQ(of(413).error.code, ErrorCode::too_large);

  const Failure busy = of(429, "", "7");
  EXPECT_EQ(busy.error.code, ErrorCode::exhausted);
  EXPECT_EQ(busy.error.retry_after_s, 7);
  EXPECT_EQ(busy.says, Says::busy);
  EXPECT_TRUE(busy.may_retry);
  EXPECT_EQ(of(503, "", "Wed, 21 Oct 2026 07:28:00 GMT").error.code, ErrorCode::unavailable);

  for (const int status : {401, 403, 404, 302}) {
    EXPECT_EQ(of(status, "secret words").error.reason, kUpstreamFailed) << status;
    EXPECT_EQ(of(status).says, Says::useless) << status;
    EXPECT_EQ(of(status, "secret words").error.message.find("secret"), std::string::npos) << status;
  }
  for (const int status : {500, 502, 204, 408}) {
    EXPECT_EQ(of(status).error.reason, kUpstreamFailed) << status;
    EXPECT_EQ(of(status).says, Says::failed) << status;
  }
}

}  // namespace
}  // namespace kvasir::upstream
