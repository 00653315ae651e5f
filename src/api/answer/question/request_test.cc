#include <gtest/gtest.h>

#include <string>

#include "api/answer/encode/prompt.h"
#include "api/answer/question/chat_request.h"
#include "api/answer/question/completion_request.h"

namespace kvasir::api {
namespace {

using base::ErrorCode;

json::object object(const std::string& text) {
  auto parsed = parse_object(text, 64);
  CHECK(parsed.ok(), "{}: {}", text, parsed.error().message);
  return std::move(*parsed);
}

// Reads a chat request with one more field, e.g. R"("n": 2)".
base::Result<ChatRequest> chat(const std::string& field) {
  return read_chat_request(
      object(R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], )" + field + "}"));
}

base::Result<CompletionRequest> completion(const std::string& field) {
  return read_completion_request(object(R"({"model": "m", "prompt": "hi", )" + field + "}"));
}

GenerateParams params(const std::string& field) {
  auto request = chat(field);
  CHECK(request.ok(), "{}: {}", field, request.error().message);
  return request->params;
}

TEST(Request, AKeyMayBeThereOnce) {
  const auto parsed = parse_object(R"({"model": "a", "model": "b"})", 64);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().reason, "duplicate_key");
}

TEST(Request, DefaultsAreOpenAIs) {
  const GenerateParams p = params(R"("unknown_field": {"x": 1})");
  EXPECT_EQ(p.model, "m");
  EXPECT_EQ(p.sampling.temperature, 1.0f);
  EXPECT_EQ(p.sampling.top_p, 1.0f);
  EXPECT_EQ(p.sampling.top_k, 0);
  EXPECT_EQ(p.n, 1);
  EXPECT_FALSE(p.stream);
  EXPECT_FALSE(p.max_tokens.has_value());
  EXPECT_FALSE(p.seed.has_value());
  EXPECT_FALSE(p.sampling.logprobs);
}

TEST(Request, EachFieldIsTaken) {
  EXPECT_FLOAT_EQ(params(R"("temperature": 0.25)").sampling.temperature, 0.25f);
  EXPECT_FLOAT_EQ(params(R"("temperature": 1)").sampling.temperature, 1.0f);
  EXPECT_FLOAT_EQ(params(R"("top_p": 0.5)").sampling.top_p, 0.5f);
  EXPECT_FLOAT_EQ(params(R"("top_p": 0)").sampling.top_p, 0.0f);
  EXPECT_EQ(params(R"("top_k": 40)").sampling.top_k, 40);
  EXPECT_EQ(params(R"("top_k": -1)").sampling.top_k, 0);
  EXPECT_FLOAT_EQ(params(R"("min_p": 0.1)").sampling.min_p, 0.1f);
  EXPECT_FLOAT_EQ(params(R"("presence_penalty": -2)").sampling.presence_penalty, -2.0f);
  EXPECT_FLOAT_EQ(params(R"("frequency_penalty": 2)").sampling.frequency_penalty, 2.0f);
  EXPECT_FLOAT_EQ(params(R"("repetition_penalty": 1.1)").sampling.repetition_penalty, 1.1f);
  EXPECT_EQ(params(R"("seed": 7)").seed, 7u);
  EXPECT_EQ(params(R"("seed": -1)").seed, ~0ull);
  EXPECT_EQ(params(R"("max_tokens": 5)").max_tokens, 5);
  EXPECT_EQ(params(R"("max_tokens": 5.0)").max_tokens, 5);
  EXPECT_EQ(params(R"("max_completion_tokens": 6)").max_tokens, 6);
  EXPECT_EQ(params(R"("max_tokens": 5, "max_completion_tokens": 6)").max_tokens, 6);
  EXPECT_EQ(params(R"("min_tokens": 3)").min_tokens, 3);
  EXPECT_TRUE(params(R"("ignore_eos": true)").ignore_eos);
  EXPECT_EQ(params(R"("n": 4)").n, 4);
  EXPECT_EQ(params(R"("user": "me")").user, "me");
  for (const char* field : {"safety_identifier", "prompt_cache_key"})
    EXPECT_EQ(params(fmt::format(R"("{}": "me")", field)).warnings.size(), 0u);
  EXPECT_NE(params(R"("prompt_cache_key": "a")").affinity, 0u);
  EXPECT_NE(params(R"("prompt_cache_key": "a")").affinity, params(R"("prompt_cache_key": "b")").affinity);
  EXPECT_EQ(params(R"("prompt_cache_key": "")").affinity, 0u);
  EXPECT_FALSE(params(R"("user": "me")").is_private);
  EXPECT_TRUE(params(R"("store": false)").is_private);
  EXPECT_EQ(params(R"("stop": "x")").stop, std::vector<std::string>{"x"});
  EXPECT_EQ(params(R"("stop": ["a", "b"])").stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(params(R"("stop": [])").stop.size(), 0u);
  EXPECT_EQ(params(R"("stop_token_ids": [3, 4])").stop_tokens, (std::vector<TokenId>{3, 4}));
  EXPECT_TRUE(params(R"("stream": true, "stream_options": {"include_usage": true})").include_usage);
  const auto bias = params(R"("logit_bias": {"12": -100, "3": 1.5})").sampling.logit_bias;
  EXPECT_EQ(bias, (std::vector<std::pair<TokenId, float>>{{3, 1.5f}, {12, -100.0f}}));
  const auto logprobs = params(R"("logprobs": true, "top_logprobs": 5)").sampling;
  EXPECT_TRUE(logprobs.logprobs);
  EXPECT_EQ(logprobs.num_top_logprobs, 5);
  EXPECT_FALSE(chat(R"("add_generation_prompt": false)")->add_generation_prompt);
  EXPECT_EQ(chat(R"("chat_template_kwargs": {"enable_thinking": false})")->template_kwargs.size(), 1u);
}

TEST(Request, NullIsAbsent) {
  const GenerateParams p = params(
      R"("temperature": null, "stop": null, "max_tokens": null, "stream_options": null, "tools": null,
         "response_format": null, "seed": null, "logit_bias": null, "prompt_logprobs": null)");
  EXPECT_EQ(p.sampling.temperature, 1.0f);
  EXPECT_TRUE(p.stop.empty());
}

struct Wrong {
  const char* json;
  const char* field;
};

TEST(Request, WrongValuesNameTheirField) {
  const Wrong cases[] = {
      {R"("temperature": 2.1)", "temperature"},
      {R"("temperature": -0.1)", "temperature"},
      {R"("temperature": "hot")", "temperature"},
      {R"("temperature": true)", "temperature"},
      {R"("top_p": -0.1)", "top_p"},
      {R"("top_p": 1.1)", "top_p"},
      {R"("top_k": -2)", "top_k"},
      {R"("top_k": 1.5)", "top_k"},
      {R"("top_k": 1e30)", "top_k"},
      {R"("min_p": -1)", "min_p"},
      {R"("presence_penalty": 2.5)", "presence_penalty"},
      {R"("frequency_penalty": -3)", "frequency_penalty"},
      {R"("repetition_penalty": 0)", "repetition_penalty"},
      {R"("n": 0)", "n"},
      {R"("n": 129)", "n"},
      {R"("max_tokens": 0)", "max_tokens"},
      {R"("max_tokens": "5")", "max_tokens"},
      {R"("max_completion_tokens": -2)", "max_completion_tokens"},
      {R"("truncate_prompt_tokens": 0)", "truncate_prompt_tokens"},
      {R"("continue_final_message": true)", "continue_final_message"},
      {R"("min_tokens": -1)", "min_tokens"},
      {R"("seed": 1.5)", "seed"},
      {R"("seed": 99999999999999999999)", "seed"},
      {R"("stop": 5)", "stop"},
      {R"("stop": ["a", 5])", "stop[1]"},
      {R"("stop": "")", "stop"},
      {R"("stop_token_ids": ["a"])", "stop_token_ids"},
      {R"("logit_bias": {"x": 1})", "logit_bias"},
      {R"("logit_bias": {"-1": 1})", "logit_bias"},
      {R"("logit_bias": {"5": 101})", "logit_bias.5"},
      {R"("logit_bias": [1])", "logit_bias"},
      {R"("logprobs": 5)", "logprobs"},
      {R"("top_logprobs": 3)", "top_logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs"},
      {R"("stream": "yes")", "stream"},
      {R"("stream_options": {"include_usage": true})", "stream_options"},
      {R"("stream": true, "stream_options": {"include_usage": 1})", "stream_options.include_usage"},
      {R"("stream": true, "stream_options": {"include_obfuscation": 1})",
       "stream_options.include_obfuscation"},
      {R"("user": 5)", "user"},
      {R"("chat_template_kwargs": [])", "chat_template_kwargs"},
  };
  for (const Wrong& wrong : cases) {
    const auto request = chat(wrong.json);
    ASSERT_FALSE(request.ok()) << wrong.json;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_argument) << wrong.json;
    EXPECT_EQ(request.error().field, wrong.field) << wrong.json;
    EXPECT_FALSE(request.error().message.empty());
  }
}

TEST(Request, StopStringsAreBounded) {
  const auto stop_of = [](std::size_t size) { return "\"stop\": [\"" + std::string(size, 'x') + "\"]"; };
  EXPECT_TRUE(chat(stop_of(4096)).ok());
  const auto refused = chat(stop_of(4097));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "stop[0]");
  EXPECT_NE(refused.error().message.find("4096"), std::string::npos);
}

TEST(Request, KnownButUnsupportedIsRefused) {
  const Wrong cases[] = {
      {R"("functions": [{"name": "f"}])", "functions"},
      {R"("function_call": {"name": "f"})", "function_call"},
      {R"("modalities": ["text", "audio"])", "modalities"},
      {R"("audio": {"voice": "x"})", "audio"},
      {R"("web_search_options": {"a": 1})", "web_search_options"},
      {R"("chat_template": "{{ messages }}")", "chat_template"},
      {R"("echo": true)", "echo"},
      {R"("suffix": "x")", "suffix"},
      {R"("best_of": 2)", "best_of"},
      {R"("use_beam_search": true)", "use_beam_search"},
      {R"("skip_special_tokens": false)", "skip_special_tokens"},
      {R"("bad_words": ["x"])", "bad_words"},
      {R"("allowed_token_ids": [1])", "allowed_token_ids"},
      {R"("return_token_ids": true)", "return_token_ids"},
      {R"("return_tokens_as_token_ids": true)", "return_tokens_as_token_ids"},
      {R"("logits_processors": ["p"])", "logits_processors"},
      {R"("priority": -1)", "priority"},
      {R"("cache_salt": "x")", "cache_salt"},
      {R"("kv_transfer_params": {"a": 1})", "kv_transfer_params"},
      {R"("add_special_tokens": true)", "add_special_tokens"},
      {R"("max_new_tokens": 5)", "max_new_tokens"},
      {R"("typical_p": 0.9)", "typical_p"},
      {R"("mirostat": 2)", "mirostat"},
      {R"("dry_multiplier": 0.8)", "dry_multiplier"},
      {R"("xtc_probability": 0.5)", "xtc_probability"},
      {R"("top_n_sigma": 1)", "top_n_sigma"},
      {R"("dynatemp_range": 0.5)", "dynatemp_range"},
      {R"("samplers": ["top_k"])", "samplers"},
      {R"("id_slot": 0)", "id_slot"},
      {R"("n_probs": 3)", "n_probs"},
  };
  for (const Wrong& wrong : cases) {
    const auto request = chat(wrong.json);
    ASSERT_FALSE(request.ok()) << wrong.json;
    EXPECT_EQ(request.error().code, ErrorCode::unsupported) << wrong.json;
    EXPECT_EQ(request.error().field, wrong.field) << wrong.json;
  }
}

TEST(Request, UnsupportedFieldsThatAskForNothingPass) {
  EXPECT_TRUE(chat(R"("tools": [], "tool_choice": "auto", "function_call": "none")").ok());
  EXPECT_TRUE(chat(R"("response_format": {"type": "text"}, "modalities": ["text"])").ok());
  EXPECT_TRUE(chat(R"("store": false, "service_tier": "auto", "best_of": 1, "echo": false)").ok());
  EXPECT_TRUE(chat(R"("skip_special_tokens": true, "priority": 0, "cache_salt": "", "bad_words": [])").ok());
  EXPECT_TRUE(chat(R"("repeat_penalty": 1.0, "typical_p": 1, "mirostat": 0, "mirostat_tau": 5.0)").ok());
  EXPECT_TRUE(chat(R"("cache_prompt": true, "id_slot": -1, "n_predict": -1, "samplers": [])").ok());
  EXPECT_TRUE(completion(R"("add_special_tokens": true)").ok());
  EXPECT_FALSE(completion(R"("add_special_tokens": false)").ok());
  EXPECT_TRUE(chat(R"("parallel_tool_calls": true, "metadata": {"a": "b"})").ok());
}

TEST(Request, FieldsOfOtherServersAreRead) {
  EXPECT_EQ(chat(R"("repeat_penalty": 1.1)")->params.sampling.repetition_penalty, 1.1F);
  EXPECT_EQ(chat(R"("n_predict": 5)")->params.max_tokens, 5);
  EXPECT_EQ(chat(R"("max_tokens": -1)")->params.max_tokens, std::nullopt);
  EXPECT_EQ(completion(R"("max_tokens": -1)")->params.max_tokens, std::nullopt);
  EXPECT_EQ(completion("\"n\": 1")->params.max_tokens, 16);
  EXPECT_EQ(completion(R"("logprobs": 20)")->params.sampling.num_top_logprobs, 20);
  EXPECT_EQ(chat(R"("cache_prompt": false)")->params.warnings.size(), 1u);
  EXPECT_EQ(chat(R"("truncate_prompt_tokens": 7)")->params.max_prompt_tokens, 7);
  EXPECT_EQ(chat(R"("stop": ["a", "b", "c", "d", "e"])")->params.stop.size(), 5u);
  std::string many = "\"stop\": [\"x\"";
  for (int i = 0; i < 64; ++i) many += ", \"x\"";
  EXPECT_EQ(chat(many + "]").error().reason, "array_above_max_length");
}

TEST(Request, TheMakersAdviceFillsWhatARequestLeavesOpen) {
  const wire::SamplingAdvice advice{
      .temperature = 0.7F, .top_p = 0.8F, .top_k = 20, .repetition_penalty = 1.1F};
  const auto used = [&](const std::string& more) { return sampling_of(chat(more)->params, advice); };
  EXPECT_EQ(used(R"("n": 1)").temperature, 0.7F);
  EXPECT_EQ(used(R"("n": 1)").top_k, 20);
  EXPECT_EQ(used(R"("n": 1)").repetition_penalty, 1.1F);
  // Values in the request that equal the defaults still take precedence over the advice.
  EXPECT_EQ(used(R"("temperature": 1, "top_p": 1, "top_k": 0)").temperature, 1.0F);
  EXPECT_EQ(used(R"("temperature": 1, "top_p": 1, "top_k": 0)").top_p, 1.0F);
  EXPECT_EQ(used(R"("temperature": 1, "top_p": 1, "top_k": 0)").top_k, 0);
  EXPECT_EQ(used(R"("temperature": null)").temperature, 0.7F);
  EXPECT_EQ(used(R"("repeat_penalty": 1)").repetition_penalty, 1.0F);
  EXPECT_EQ(used(R"("temperature": 0)").repetition_penalty, 1.0F);
  EXPECT_EQ(sampling_of(chat(R"("n": 1)")->params, {}).temperature, 1.0F);
}

base::Result<ChatRequest> messages(const std::string& list, const std::string& more = "") {
  return read_chat_request(object(R"({"model": "m", "messages": )" + list + more + "}"));
}

TEST(Request, ALastMessageOfTheAssistantBeginsTheAnswer) {
  const std::string list =
      R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "The best is"}])";
  for (const char* more : {"", R"(, "continue_final_message": true, "add_generation_prompt": false)"}) {
    const auto request = messages(list, more);
    ASSERT_TRUE(request.ok());
    EXPECT_EQ(request->prefill, "The best is");
    EXPECT_EQ(request->messages.size(), 1u);
    EXPECT_TRUE(request->add_generation_prompt);
  }
  for (const char* more : {R"(, "continue_final_message": false)", R"(, "add_generation_prompt": false)"}) {
    const auto request = messages(list, more);
    EXPECT_EQ(request->prefill, "");
    EXPECT_EQ(request->messages.size(), 2u);
  }
}

TEST(Request, MessagesBecomeWhatTemplatesWant) {
  auto request = messages(R"([
      {"role": "developer", "content": "be kind"},
      {"role": "user", "name": "ann", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
         "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "2"}])");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->messages[0].at("role"), "system");
  EXPECT_EQ(request->messages[1].at("content").at(1).at("text"), "b");
  EXPECT_EQ(request->messages[1].at("name"), "ann");
  EXPECT_EQ(request->messages[2].at("content"), "");
  EXPECT_EQ(request->messages[2].at("tool_calls").at(0).at("function").at("arguments").at("x"), 1);
}

TEST(Request, ARefusalIsWhatTheAssistantSaid) {
  const auto request = messages(R"([{"role": "user", "content": "q"},
      {"role": "assistant", "content": null, "refusal": "I will not."},
      {"role": "assistant", "refusal": "Nor that."}])");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->messages[1].at("content"), "I will not.");
  EXPECT_EQ(request->messages[2].at("content"), "Nor that.");
}

TEST(Request, ContentsFitTheTemplate) {
  const std::string list = R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [
      {"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]}])";
  const auto fitted = [&](text::ContentShape shape) {
    json::array all = messages(list, R"(, "continue_final_message": false)").value().messages;
    fit_messages({.content = shape}, all);
    return base::json_text(json::array{all[0].at("content"), all[1].at("content")});
  };
  const std::string hi = R"([{"type":"text","text":"hi"}])";
  const std::string parts = R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])";
  EXPECT_EQ(fitted(text::ContentShape::text), R"(["hi","a\nb"])");
  EXPECT_EQ(fitted(text::ContentShape::parts), "[" + hi + "," + parts + "]");
  EXPECT_EQ(fitted(text::ContentShape::either), R"(["hi",)" + parts + "]");
}

TEST(Request, CallsFitTheTemplate) {
  json::array all = messages(R"([{"role": "assistant", "content": "", "tool_calls": [{"type": "function",
      "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}])")
                        .value()
                        .messages;
  fit_messages({.calls_without_content = true, .arguments_as_text = true}, all);
  EXPECT_TRUE(all[0].at("content").is_null());
  EXPECT_EQ(all[0].at("tool_calls").at(0).at("function").at("arguments"), R"({"a":1})");
}

TEST(Request, WrongMessagesNameThePlace) {
  const Wrong cases[] = {
      {"[]", "messages"},
      {"{}", "messages"},
      {R"(["hi"])", "messages[0]"},
      {R"([{"content": "x"}])", "messages[0].role"},
      {R"([{"role": "king", "content": "x"}])", "messages[0].role"},
      {R"([{"role": "user"}])", "messages[0].content"},
      {R"([{"role": "user", "content": 5}])", "messages[0].content"},
      {R"([{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "text"}]}])",
       "messages[1].content[0]"},
      {R"([{"role": "user", "content": ["x"]}])", "messages[0].content[0]"},
      {R"([{"role": "assistant", "content": null, "tool_calls": 5}])", "messages[0].tool_calls"},
      {R"([{"role": "assistant", "content": "x", "refusal": 5}])", "messages[0].refusal"},
  };
  for (const Wrong& wrong : cases) {
    const auto request = messages(wrong.json);
    ASSERT_FALSE(request.ok()) << wrong.json;
    EXPECT_EQ(request.error().field, wrong.field) << wrong.json;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_argument) << wrong.json;
  }
  const auto image =
      messages(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])");
  EXPECT_EQ(image.error().code, ErrorCode::unsupported);
  EXPECT_EQ(image.error().field, "messages[0].content[0]");
}

TEST(Request, CodesTellMissingFromWrongTypeFromWrongValue) {
  const auto code = [](const std::string& list) { return messages(list).error().reason; };
  EXPECT_EQ(code("{}"), "invalid_type");
  EXPECT_EQ(code("[]"), "invalid_value");
  EXPECT_EQ(code("null"), "missing_required_parameter");
  EXPECT_EQ(code(R"(["hi"])"), "invalid_type");
  EXPECT_EQ(code(R"([{"content": "x"}])"), "missing_required_parameter");
  EXPECT_EQ(code(R"([{"role": 5, "content": "x"}])"), "invalid_type");
  EXPECT_EQ(code(R"([{"role": "king", "content": "x"}])"), "invalid_value");
  EXPECT_EQ(code(R"([{"role": "user"}])"), "missing_required_parameter");
  EXPECT_EQ(code(R"([{"role": "user", "content": 5}])"), "invalid_type");
  EXPECT_EQ(code(R"([{"role": "user", "content": ["x"]}])"), "invalid_type");
  EXPECT_EQ(code(R"([{"role": "user", "content": [{"type": "text"}]}])"), "missing_required_parameter");
  EXPECT_EQ(code(R"([{"role": "assistant", "content": "x", "tool_calls": 5}])"), "invalid_type");
  EXPECT_EQ(chat(R"("stop_token_ids": 5)").error().reason, "invalid_type");
  EXPECT_EQ(parse_object("", 64).error().reason, "missing_body");
  EXPECT_EQ(parse_object("[1]", 64).error().reason, "invalid_type");
  EXPECT_EQ(parse_object("{\"a\": ", 64).error().reason, "invalid_json");
  EXPECT_EQ(parse_object("{\"a\": \"\xff\"}", 64).error().reason, "invalid_utf8");
}

TEST(Request, RequiredFields) {
  EXPECT_EQ(read_chat_request(object(R"({"messages": []})")).error().field, "model");
  EXPECT_EQ(read_chat_request(object(R"({"model": 5})")).error().field, "model");
  EXPECT_EQ(read_chat_request(object(R"({"model": "m"})")).error().field, "messages");
  EXPECT_EQ(read_completion_request(object(R"({"model": "m"})")).error().field, "prompt");
}

TEST(Request, BodiesThatAreNoObject) {
  EXPECT_FALSE(parse_object("", 64).ok());
  EXPECT_FALSE(parse_object("[1]", 64).ok());
  EXPECT_FALSE(parse_object("{\"a\": 1", 64).ok());
  EXPECT_NE(parse_object(std::string(100000, '['), 64).error().message.find("deeper than 64"),
            std::string::npos);
}

TEST(Request, PromptsInEveryShape) {
  const auto prompts = [](const std::string& json) {
    auto request = read_completion_request(object(R"({"model": "m", "prompt": )" + json + "}"));
    CHECK(request.ok(), "{}", request.error().message);
    return request->prompts;
  };
  using Tokens = std::vector<TokenId>;
  EXPECT_EQ(prompts(R"("a")"), (std::vector<TextOrTokens>{"a"}));
  EXPECT_EQ(prompts(R"(["a", "b"])"), (std::vector<TextOrTokens>{"a", "b"}));
  EXPECT_EQ(prompts("[1, 2]"), (std::vector<TextOrTokens>{Tokens{1, 2}}));
  EXPECT_EQ(prompts("[[1], [2, 3]]"), (std::vector<TextOrTokens>{Tokens{1}, Tokens{2, 3}}));
  EXPECT_EQ(prompts("[]"), (std::vector<TextOrTokens>{Tokens{}}));
}

TEST(Request, WrongPromptsNameThePlace) {
  const auto error = [](const std::string& json) {
    return read_completion_request(object(R"({"model": "m", "prompt": )" + json + "}")).error();
  };
  EXPECT_EQ(error("5").field, "prompt");
  EXPECT_EQ(error("{}").field, "prompt");
  EXPECT_EQ(error("[1, \"a\"]").field, "prompt[1]");
  EXPECT_EQ(error("[\"a\", 1]").field, "prompt[1]");
  EXPECT_EQ(error("[[1], [-2]]").field, "prompt[1][0]");
  EXPECT_EQ(read_completion_request(object(R"({"model": "m", "prompt": ["a", "b"], "n": 65})")).error().field,
            "n");
}

TEST(Request, CompletionLogprobs) {
  EXPECT_EQ(completion(R"("logprobs": 0)")->params.sampling.num_top_logprobs, 0);
  EXPECT_TRUE(completion(R"("logprobs": 0)")->params.sampling.logprobs);
  EXPECT_FALSE(completion(R"("logprobs": false)")->params.sampling.logprobs);
  EXPECT_EQ(completion(R"("logprobs": 21)").error().field, "logprobs");
}

}  // namespace
}  // namespace kvasir::api
