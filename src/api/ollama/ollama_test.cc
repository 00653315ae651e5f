#include <gtest/gtest.h>

#include "api/ollama/ollama_fixture.h"

namespace kvasir::api {
namespace {

TEST_F(OllamaTest, AChatStreamsLinesUnlessItIsToldNotTo) {
  serve(says("Hé ✓"));
  const Reply streamed = post("/api/chat", chat(R"(, "options": {"num_predict": 64})"));
  ASSERT_EQ(streamed.status, 200) << streamed.text;
  EXPECT_EQ(streamed.headers.at("content-type"), "application/x-ndjson");
  const auto lines = lines_of(streamed.text);
  ASSERT_GE(lines.size(), 2u);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("model").as_string(), "m");
    EXPECT_EQ(lines[i].at("message").at("role").as_string(), "assistant");
    EXPECT_EQ(lines[i].at("done").as_bool(), i + 1 == lines.size());
    text += text_of(lines[i]);
  }
  const json::object& end = lines.back().as_object();
  EXPECT_EQ(end.at("done_reason").as_string(), "stop");
  EXPECT_EQ(end.at("prompt_eval_count").to_number<std::size_t>(), worker_->wait_for(0).request.prompt.size());
  EXPECT_EQ(end.at("eval_count").as_int64(), 7);
  std::int64_t parts = 0;
  for (const char* part : {"load_duration", "prompt_eval_duration", "eval_duration"}) {
    EXPECT_GE(end.at(part).as_int64(), 0);
    parts += end.at(part).as_int64();
  }
  EXPECT_EQ(end.at("total_duration").as_int64(), parts);

  const Reply whole = post("/api/chat", chat(R"(, "stream": false)"));
  ASSERT_EQ(whole.status, 200) << whole.text;
  EXPECT_EQ(whole.headers.at("content-type"), "application/json");
  EXPECT_EQ(text, "Hé ✓");
  EXPECT_EQ(text_of(whole.body), text);
  EXPECT_EQ(whole.body.at("done"), true);
  EXPECT_EQ(whole.body.at("eval_count").as_int64(), 7);
  EXPECT_EQ(worker_->wait_for(0).request.max_tokens, 64);
}

TEST_F(OllamaTest, ATagThatIsLatestMayBeLeftOut) {
  serve(says("x"));
  const Reply tagged = post("/api/chat", R"({"model": "m:latest", "stream": false,
                                             "messages": [{"role": "user", "content": "hi"}]})");
  ASSERT_EQ(tagged.status, 200) << tagged.text;
  EXPECT_EQ(tagged.body.at("model").as_string(), "m:latest");
  EXPECT_EQ(post("/api/show", R"({"model": "m:latest"})").status, 200);
  EXPECT_EQ(post("/api/show", R"({"name": "m"})").status, 200);
  const Reply other = post("/api/show", R"({"model": "m:7b"})");
  EXPECT_EQ(other.status, 404);
  EXPECT_TRUE(other.body.at("error").as_string().starts_with("model 'm:7b' not found"));
}

TEST_F(OllamaTest, APromptIsAnsweredWithAResponse) {
  serve(says("one two STOP three"));
  const std::string body =
      R"({"model": "m", "prompt": "hi", "system": "Be kind.", "options": {"stop": ["STOP"]})";
  const Reply streamed = post("/api/generate", body + "}");
  std::string text;
  for (const json::value& line : lines_of(streamed.text)) text += line.at("response").as_string();
  EXPECT_EQ(text, "one two ");
  EXPECT_NE(prompt_of(0).find("<|im_start|>system\nBe kind.<|im_end|>"), std::string::npos) << prompt_of(0);
  const Reply whole = post("/api/generate", body + R"(, "stream": false})");
  EXPECT_EQ(whole.body.at("response").as_string(), text);
  EXPECT_FALSE(whole.body.as_object().contains("context"));
  post("/api/generate", R"({"model": "m", "prompt": "Once", "raw": true, "stream": false})");
  EXPECT_EQ(prompt_of(2), "Once");
}

TEST_F(OllamaTest, CallsOfToolsAreWholeAndHaveObjects) {
  serve(
      says("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>\n"
           "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>"));
  const std::string tools = R"(, "tools": [{"type": "function", "function": {"name": "f", "description": "d",
      "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}])";
  const auto cities_of = [](const std::vector<json::value>& lines) {
    std::string cities;
    for (const json::value& line : lines)
      if (const json::value* calls = line.at("message").as_object().if_contains("tool_calls"))
        for (const json::value& call : calls->as_array())
          cities += call.at("function").at("arguments").at("city").as_string();
    return cities;
  };
  const auto lines = lines_of(post("/api/chat", chat(tools)).text);
  EXPECT_EQ(cities_of(lines), "ParisRome");
  EXPECT_EQ(lines.back().at("done_reason").as_string(), "stop");
  const Reply whole = post("/api/chat", chat(tools + R"(, "stream": false)"));
  EXPECT_EQ(cities_of({whole.body}), "ParisRome");
  const json::value& call = whole.body.at("message").at("tool_calls").at(1);
  EXPECT_EQ(call.at("function").at("name").as_string(), "f");
  EXPECT_EQ(call.at("function").at("index").as_int64(), 1);
}

TEST_F(OllamaTest, LogprobsComeWithTheirTokens) {
  serve(says("ab"));
  const Reply reply =
      post("/api/generate",
           R"({"model": "m", "prompt": "x", "stream": false, "logprobs": true, "top_logprobs": 2})");
  ASSERT_EQ(reply.status, 200) << reply.text;
  const json::array& list = reply.body.at("logprobs").as_array();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].at("token").as_string(), "b");
  EXPECT_EQ(list[1].at("top_logprobs").as_array().size(), 2u);
  std::size_t num_streamed = 0;
  for (const json::value& line :
       lines_of(post("/api/generate", R"({"model": "m", "prompt": "x", "logprobs": true})").text))
    if (const json::value* some = line.as_object().if_contains("logprobs"))
      num_streamed += some->as_array().size();
  EXPECT_EQ(num_streamed, 2u);
}

TEST_F(OllamaTest, WithoutAPromptTheModelIsOnlyLookedFor) {
  serve();
  const Reply load = post("/api/generate", R"({"model": "m"})");
  ASSERT_EQ(load.status, 200) << load.text;
  EXPECT_EQ(load.body.at("done_reason").as_string(), "load");
  EXPECT_EQ(load.body.at("response").as_string(), "");
  const Reply unload = post("/api/chat", R"({"model": "m", "messages": [], "keep_alive": 0})");
  EXPECT_EQ(unload.body.at("done_reason").as_string(), "unload");
  EXPECT_EQ(text_of(unload.body), "");
  EXPECT_EQ(unload.headers.at("x-kvasir-warning"), "keep_alive: ignored, a served model stays loaded");
  EXPECT_EQ(post("/api/generate", R"({"model": "n"})").status, 404);
}

TEST_F(OllamaTest, WhatTheModelCannotDoIsSaid) {
  serve(says("x"), 512);
  const Reply thinks = post("/api/chat", chat(R"(, "think": true)"));
  EXPECT_EQ(thinks.status, 400);
  EXPECT_NE(thinks.text.find("does not support thinking"), std::string::npos) << thinks.text;
  EXPECT_EQ(post("/api/chat", chat(R"(, "think": false)")).status, 200);
  const Reply large = post("/api/chat", chat(R"(, "stream": false, "options": {"num_ctx": 4096})"));
  EXPECT_EQ(large.body.at("warnings").at(0).as_string(),
            "options.num_ctx: ignored, the model's context is 512 tokens");
  const Reply same = post("/api/chat", chat(R"(, "stream": false, "options": {"num_ctx": 512})"));
  EXPECT_FALSE(same.body.as_object().contains("warnings"));
}

TEST_F(OllamaTest, ThoughtsAreApart) {
  serve(says("<think>\nHm.\n</think>\n\nYes."));
  constexpr const char* kThinks =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "<|im_start|>assistant\n{% if enable_thinking is defined and not enable_thinking %}"
      "<think>\n\n</think>\n\n{% endif %}";
  router::GeneratingModel model = router::scripted_model(worker_);
  model.text.tokenizer = router::byte_tokenizer(kThinks);
  model.text.chat_template =
      std::make_shared<const text::ChatTemplate>(text::ChatTemplate::parse(kThinks).value());
  router_.set_ready("m", std::move(model));
  EXPECT_EQ(base::json_text(post("/api/show", R"({"model": "m"})").body.at("capabilities")),
            R"(["completion","tools","thinking"])");
  const Reply reply = post("/api/chat", chat(R"(, "stream": false, "think": true)"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(text_of(reply.body), "Yes.");
  EXPECT_NE(reply.body.at("message").at("thinking").as_string().find("Hm."), std::string::npos);
  EXPECT_EQ(post("/api/generate", R"({"model": "m", "prompt": "x", "stream": false})").body.at("response"),
            "Yes.");
  post("/api/chat", chat(R"(, "stream": false, "think": false)"));
  EXPECT_TRUE(prompt_of(2).ends_with("<think>\n\n</think>\n\n")) << prompt_of(2);
}

TEST_F(OllamaTest, ACutChatIsReportedAndAnUncutOneRefused) {
  serve(says("x"), 256);
  json::array messages;
  for (int i = 0; i < 5; ++i) {
    messages.push_back({{"role", "user"}, {"content", std::string(60, 'u')}});
    messages.push_back({{"role", "assistant"}, {"content", "a"}});
  }
  messages.push_back({{"role", "user"}, {"content", "last"}});
  const json::object body{{"model", "m"}, {"messages", messages}, {"stream", false}};
  EXPECT_EQ(post("/api/chat", base::json_text(body)).status, 400);
  json::object cut = body;
  cut["truncate"] = true;
  const Reply reply = post("/api/chat", base::json_text(cut));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_GT(reply.body.at("kvasir").at("context").at("dropped_messages").as_int64(), 0) << reply.text;
}

TEST_F(OllamaTest, ErrorsAreOllamas) {
  serve(says("x"));
  const auto message = [](const Reply& reply) { return std::string(reply.body.at("error").as_string()); };
  const Reply wrong = post("/api/chat", chat(R"(, "options": {"temperature": 9})"));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_TRUE(message(wrong).starts_with("Invalid 'options.temperature': ")) << wrong.text;
  EXPECT_EQ(post("/api/chat", R"({"model": "n", "messages": [{"role": "user", "content": "x"}]})").status,
            404);
  EXPECT_EQ(post("/api/chat", "{").status, 400);
  EXPECT_FALSE(message(post("/api/chat", "{")).empty());
  EXPECT_EQ(get("/api/chat").status, 405);
  EXPECT_FALSE(message(get("/api/chat")).empty());
  EXPECT_EQ(get("/api/nothing").status, 404);
  EXPECT_FALSE(message(get("/api/nothing")).empty());
  for (const char* path : {"/api/create", "/api/copy", "/api/push", "/api/blobs/sha256:0"}) {
    const Reply reply = post(path, R"({"model": "m"})");
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_NE(message(reply).find("over HTTP"), std::string::npos) << path;
    EXPECT_FALSE(message(reply).empty());
  }
  worker_->refuse_with({.code = base::ErrorCode::unavailable, .message = "busy", .retry_after_s = 3});
  const Reply busy = post("/api/chat", chat());
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(message(busy), "busy");
  EXPECT_EQ(busy.headers.at("retry-after"), "3");
}

TEST_F(OllamaTest, AnErrorInTheMiddleIsALine) {
  serve([](const wire::GenerateRequest&) {
    std::vector<wire::TokenEvent> events(2);
    events[0].tokens = router::byte_tokens("a");
    events[1].error = base::Error{base::ErrorCode::internal, "the device is gone"};
    return events;
  });
  const auto lines = lines_of(post("/api/chat", chat()).text);
  ASSERT_GE(lines.size(), 1u);
  EXPECT_TRUE(lines.back().as_object().contains("error")) << base::json_text(lines.back());
}

TEST_F(OllamaTest, PingsAreBlanksBeforeALine) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/api/chat", chat(), ""));
  const auto asked = worker_->wait_for(0);
  EXPECT_TRUE(client.read_until("\r\n \r\n").ends_with("\r\n \r\n"));
  wire::TokenEvent event;
  event.tokens = router::byte_tokens("a");
  event.finish = wire::FinishReason::stop;
  seam::TokenStream::send({{asked.stream, std::move(event)}});
  EXPECT_NE(client.read_until("\"done\":true").find("\"content\":\"a\""), std::string::npos);
}

TEST_F(OllamaTest, ARequestEndsWithItsClient) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/api/generate", R"({"model": "m", "prompt": "hi"})", ""));
  const auto asked = worker_->wait_for(0);
  client.reset();
  EXPECT_TRUE(eventually([&] { return asked.stream->cancelled(); }));
}

TEST_F(OllamaTest, ModelsAreListedShownAndRunning) {
  serve(says("x"));
  router_.add("later");
  const Reply tags = get("/api/tags");
  ASSERT_EQ(tags.status, 200);
  const json::array& models = tags.body.at("models").as_array();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].at("name").as_string(), "m:latest");
  EXPECT_EQ(models[0].at("model").as_string(), "m:latest");
  EXPECT_EQ(models[1].at("digest").as_string().size(), 64u);
  const Reply ps = get("/api/ps");
  ASSERT_EQ(ps.body.at("models").as_array().size(), 1u) << "one is not loaded";
  EXPECT_EQ(ps.body.at("models").at(0).at("context_length").as_int64(), 4096);
  const Reply show = post("/api/show", R"({"model": "m", "verbose": true})");
  ASSERT_EQ(show.status, 200) << show.text;
  EXPECT_EQ(show.body.at("model_info").at("unknown.context_length").as_int64(), 4096);
  EXPECT_EQ(base::json_text(show.body.at("capabilities")), R"(["completion","tools"])");
  EXPECT_EQ(post("/api/show", R"({"model": "later"})").status, 503);
  EXPECT_EQ(post("/api/show", "{}").status, 400);
  EXPECT_TRUE(get("/api/version").body.at("version").is_string());
}

TEST_F(OllamaTest, KeysHoldHereToo) {
  serve(says("x"));
  add_tenant("acme");
  const auto key = issue("acme");
  const Reply without = post("/api/chat", chat());
  EXPECT_EQ(without.status, 401);
  EXPECT_TRUE(without.body.at("error").is_string());
  EXPECT_EQ(post_with("/api/chat", chat(R"(, "stream": false)"), bearer(key)).status, 200);
  EXPECT_EQ(get("/api/tags").status, 401);
  EXPECT_EQ(get("/api/version").status, 200);
  EXPECT_EQ(post_with("/api/pull", R"({"model": "m"})", bearer(key)).status, 403);
  EXPECT_TRUE(eventually([&] { return used().num_requests == 1; }));
}

}  // namespace
}  // namespace kvasir::api
