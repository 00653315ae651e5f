#include <string>
#include <vector>

#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

const std::string kStream = R"(, "stream": true)";
const std::string kResumable = R"(, "stream": true, "stream_options": {"resumable": true})";

void feed(const router::ScriptedWorker::Asked& asked, const std::string& text,
          std::optional<FinishReason> finish = std::nullopt) {
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens(text), .finish = finish}}});
}

// The prompt that the model was given, as text; its tokens are bytes.
std::string prompt_of(const router::ScriptedWorker::Asked& asked) {
  std::string text;
  for (const TokenId token : asked.request.prompt) text += token < 256 ? static_cast<char>(token) : '|';
  return text;
}

std::string text_at(const json::value& value, const char* key) {
  return std::string(value.at(key).as_string());
}

std::string header_of(net::LoopbackClient& client, const std::string& name) {
  const std::string headers = client.read_until("\r\n\r\n");
  const std::size_t at = headers.find(name + ": ");
  EXPECT_NE(at, std::string::npos) << headers;
  const std::size_t begin = at + name.size() + 2;
  return headers.substr(begin, headers.find('\r', at) - begin);
}

TEST_F(KeyedApiTest, ATierDecidesWhichModelsThereAre) {
  serve(says("hello"));
  router_.add("n");
  add_tenant("acme", "elsewhere");
  const std::string key = bearer(issue("acme"));
  const Reply hidden = post_with("/v1/chat/completions", chat_body(), key);
  EXPECT_EQ(hidden.status, 404);
  EXPECT_EQ(hidden.body.at("error").at("code"), "model_not_found");
  std::string unknown = post_with("/v1/chat/completions",
                                  R"({"model": "zz", "messages": [{"role": "user", "content": "hi"}]})", key)
                            .text;
  unknown.replace(unknown.find("'zz'"), 4, "'m'");
  EXPECT_EQ(hidden.text, unknown);
  EXPECT_EQ(post_with("/v1/tokenize", R"({"model": "m", "prompt": "x"})", key).status, 404);
  EXPECT_EQ(get_with("/v1/models/m", key).status, 404);
  const Reply list = get_with("/v1/models", key);
  ASSERT_EQ(list.body.at("data").as_array().size(), 1u);
  EXPECT_EQ(list.body.at("data").at(0).at("id"), "n");
}

TEST_F(KeyedApiTest, ATierBoundsTheContextAndSetsPriorityAndSlos) {
  serve(says("hello"));
  add_tenant("acme", "narrow");
  const std::string key = bearer(issue("acme"));
  EXPECT_EQ(get_with("/v1/models/m", key).body.at("context_window"), 64);
  const std::string long_text(100, 'x');
  const Reply refused =
      post_with("/v1/chat/completions",
                R"({"model": "m", "messages": [{"role": "user", "content": ")" + long_text + "\"}]}", key);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body.at("error").at("code"), "context_length_exceeded");
  EXPECT_EQ(post_with("/v1/chat/completions", chat_body(R"(, "priority": 9)"), key).status, 400);
  ASSERT_EQ(post_with("/v1/chat/completions", chat_body(), key).status, 200);
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(asked.request.priority, 7);
  EXPECT_DOUBLE_EQ(asked.request.slo_ttft_s, 0.3);
  EXPECT_DOUBLE_EQ(asked.request.slo_tpot_s, 0.04);
  EXPECT_LE(static_cast<int>(asked.request.prompt.size()) + asked.request.max_tokens, 64);
}

TEST_F(KeyedApiTest, ATenantsSystemPromptComesBeforeThatOfTheChat) {
  serve(says("hello"));
  add_tenant("acme", "pro", "Be kind.");
  const std::string key = bearer(issue("acme"));
  ASSERT_EQ(post_with("/v1/chat/completions", chat_body(), key).status, 200);
  EXPECT_NE(prompt_of(worker_->wait_for(0)).find("system\nBe kind.|"), std::string::npos);
  const std::string own =
      R"({"model": "m", "messages": [{"role": "system", "content": "Rhyme."}, {"role": "user", "content": "hi"}]})";
  ASSERT_EQ(post_with("/v1/chat/completions", own, key).status, 200);
  EXPECT_NE(prompt_of(worker_->wait_for(1)).find("system\nBe kind.\n\nRhyme.|"), std::string::npos)
      << prompt_of(worker_->wait_for(1));
  const std::string message =
      R"({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Rhyme."}],
          "messages": [{"role": "user", "content": "hi"}]})";
  ASSERT_EQ(post_with("/v1/messages", message, key).status, 200);
  EXPECT_NE(prompt_of(worker_->wait_for(2)).find("system\nBe kind.\n\nRhyme.|"), std::string::npos)
      << prompt_of(worker_->wait_for(2));
  const Reply response =
      post_with("/v1/responses", R"({"model": "m", "input": "hi", "instructions": "Rhyme."})", key);
  ASSERT_EQ(response.status, 200);
  EXPECT_NE(prompt_of(worker_->wait_for(3)).find("system\nBe kind.\n\nRhyme.|"), std::string::npos);
  EXPECT_EQ(response.body.at("instructions"), "Rhyme.");
  ASSERT_EQ(post_with("/v1/completions", R"({"model": "m", "prompt": "hi"})", key).status, 200);
  EXPECT_EQ(prompt_of(worker_->wait_for(4)), "hi");
}

TEST_F(KeyedApiTest, ABatchRunsWithItsTenantsTierAndPrompt) {
  serve(says("hello"));
  add_tenant("acme", "enterprise", "Be kind.");
  const std::string key = bearer(issue("acme"));
  const std::string lines =
      R"({"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": )" + chat_body() + "}\n";
  const std::string form =
      "--xx\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
      "--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in\"\r\n\r\n" +
      lines + "\r\n--xx--\r\n";
  const Reply file = exchange(
      net::post_request("/v1/files", form, key + "Content-Type: multipart/form-data; boundary=xx\r\n"));
  ASSERT_EQ(file.status, 200) << file.text;
  const std::string body = R"({"completion_window": "24h", "endpoint": "/v1/chat/completions",
                              "input_file_id": ")" +
                           text_at(file.body, "id") + "\"}";
  ASSERT_EQ(post_with("/v1/batches", body, key).status, 200);
  const auto asked = worker_->wait_for(0);
  EXPECT_NE(prompt_of(asked).find("Be kind."), std::string::npos);
  EXPECT_EQ(asked.request.origin.tenant, "acme");
  EXPECT_EQ(asked.request.origin.weight, 16);
  EXPECT_EQ(asked.request.priority, -998);
}

TEST_F(KeyedApiTest, ABatchThatWaitsForItsTenantsLimitsHoldsUpNoOther) {
  serve(says("hello"));
  add_tenant("acme", "free");  // 60 requests a minute
  add_tenant("beta", "enterprise");
  const auto begin = [&](const std::string& key, int num_lines) {
    std::string form =
        "--xx\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
        "--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in\"\r\n\r\n";
    for (int i = 0; i < num_lines; ++i)
      form +=
          fmt::format(R"({{"custom_id": "{}", "method": "POST", "url": "/v1/chat/completions", "body": {}}})",
                      i, chat_body(R"(, "max_tokens": 5)")) +
          "\n";
    const Reply file = exchange(net::post_request(
        "/v1/files", form + "\r\n--xx--\r\n", key + "Content-Type: multipart/form-data; boundary=xx\r\n"));
    return text_at(
        post_with("/v1/batches",
                  R"({"completion_window": "24h", "endpoint": "/v1/chat/completions", "input_file_id": ")" +
                      text_at(file.body, "id") + "\"}",
                  key)
            .body,
        "id");
  };
  const std::string acme = bearer(issue("acme"));
  const std::string beta = bearer(issue("beta"));
  const std::string limited = begin(acme, 70);
  const auto of_acme = [&] { return get_with("/v1/batches/" + limited, acme).body; };
  ASSERT_TRUE(
      eventually([&] { return of_acme().at_pointer("/request_counts/completed").to_number<int>() >= 50; }));
  const std::string free = begin(beta, 3);
  EXPECT_TRUE(eventually(
      [&] { return text_at(get_with("/v1/batches/" + free, beta).body, "status") == "completed"; }));
  EXPECT_EQ(text_at(of_acme(), "status"), "in_progress");
  wall_clock_.advance(std::chrono::minutes(1));
  EXPECT_TRUE(eventually([&] { return text_at(of_acme(), "status") == "completed"; }));
}

TEST_F(KeyedApiTest, WhatIsAnothersIsNotThere) {
  serve(says("hello"));
  add_tenant("acme");
  add_tenant("beta");
  const std::string acme = bearer(issue("acme"));
  const std::string beta = bearer(issue("beta"));
  const std::string conversation = text_at(post_with("/v1/conversations", "{}", acme).body, "id");
  const std::string response =
      text_at(post_with("/v1/responses", R"({"model": "m", "input": "hi"})", acme).body, "id");
  const std::string form =
      "--xx\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
      "--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in\"\r\n\r\n{}\r\n"
      "--xx--\r\n";
  const std::string file =
      text_at(exchange(net::post_request("/v1/files", form,
                                         acme + "Content-Type: multipart/form-data; boundary=xx\r\n"))
                  .body,
              "id");
  net::LoopbackClient streaming(port_);
  streaming.send(net::post_request("/v1/chat/completions", chat_body(kResumable), acme));
  const std::string stream = header_of(streaming, "x-stream-id");
  streaming.read_until("[DONE]");

  struct Thing {
    std::string method;
    std::string before;
    std::string id;
    std::string after = {};
  };
  const std::vector<Thing> things = {
      {"GET", "/v1/conversations/", conversation},
      {"DELETE", "/v1/conversations/", conversation},
      {"GET", "/v1/conversations/", conversation, "/messages"},
      {"GET", "/v1/responses/", response},
      {"GET", "/v1/responses/", response, "?stream=true"},
      {"GET", "/v1/responses/", response, "/input_items"},
      {"DELETE", "/v1/responses/", response},
      {"GET", "/v1/files/", file},
      {"GET", "/v1/files/", file, "/content"},
      {"DELETE", "/v1/files/", file},
      {"GET", "/v1/streams/", stream},
  };
  for (const Thing& thing : things) {
    const Reply others = ask(thing.method, thing.before + thing.id + thing.after, beta);
    std::string missing_id = thing.id;
    missing_id.back() = missing_id.back() == 'x' ? 'y' : 'x';
    Reply nobodys = ask(thing.method, thing.before + missing_id + thing.after, beta);
    EXPECT_EQ(others.status, 404) << thing.before;
    for (std::size_t at = nobodys.text.find(missing_id); at != std::string::npos;
         at = nobodys.text.find(missing_id))
      nobodys.text.replace(at, missing_id.size(), thing.id);
    EXPECT_EQ(others.text, nobodys.text);
  }
  EXPECT_EQ(get_with("/v1/conversations/" + conversation, acme).status, 200);
  EXPECT_EQ(get_with("/v1/files/" + file, acme).status, 200);
  EXPECT_EQ(get_with("/v1/streams/" + stream, acme).status, 200);
  const Reply previous = post_with(
      "/v1/responses", R"({"model": "m", "input": "hi", "previous_response_id": ")" + response + "\"}", beta);
  EXPECT_EQ(previous.status, 400) << previous.text;
  EXPECT_EQ(previous.body.at("error").at("code"), "previous_response_not_found");
  const Reply batch = post_with("/v1/batches",
                                R"({"completion_window": "24h", "endpoint": "/v1/chat/completions",
                                   "input_file_id": ")" +
                                    file + "\"}",
                                beta);
  EXPECT_GE(batch.status, 400) << batch.text;
  EXPECT_TRUE(get_with("/v1/files", beta).body.at("data").as_array().empty());
}

TEST_F(KeyedApiTest, RevokingAKeyEndsItsStream) {
  serve();
  add_tenant("acme");
  const tenancy::IssuedKey key = issue("acme");
  const tenancy::IssuedKey other = issue("acme");
  net::LoopbackClient client(port_);
  net::LoopbackClient bystander(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(kStream), bearer(key)));
  const auto asked = worker_->wait_for(0);
  bystander.send(net::post_request("/v1/chat/completions", chat_body(kStream), bearer(other)));
  const auto asked_too = worker_->wait_for(1);
  feed(asked, "one ");
  client.read_until("one ");
  revoke(key);
  const std::string rest = client.read_until("\r\n0\r\n");
  EXPECT_NE(rest.find(R"("code":"key_revoked")"), std::string::npos) << rest;
  EXPECT_EQ(rest.find("[DONE]"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return asked.stream->cancelled(); }));
  feed(asked_too, "two", FinishReason::stop);
  EXPECT_NE(bystander.read_until("[DONE]").find("two"), std::string::npos);
}

TEST_F(KeyedApiTest, RevokingAKeyEndsAnAnswerThatIsNotStreamed) {
  serve();
  add_tenant("acme");
  const tenancy::IssuedKey key = issue("acme");
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(), bearer(key)));
  const auto asked = worker_->wait_for(0);
  revoke(key);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 401);
  EXPECT_NE(response->body.find("key_revoked"), std::string::npos);
  EXPECT_TRUE(asked.stream->cancelled());
}

TEST_F(KeyedApiTest, RevokingAKeyEndsAStreamThatItsClientLeft) {
  serve();
  add_tenant("acme");
  const tenancy::IssuedKey key = issue("acme");
  const tenancy::IssuedKey other = issue("acme");
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(kResumable), bearer(key)));
  const auto asked = worker_->wait_for(0);
  const std::string id = header_of(client, "x-stream-id");
  feed(asked, "one ");
  client.read_until("one ");
  client.reset();
  // A reader with another key of the same tenant resumes the stream.
  net::LoopbackClient reader(port_);
  reader.send(net::get_request("/v1/streams/" + id, bearer(other)));
  reader.read_until("one ");
  revoke(key);
  const std::string rest = reader.read_until("\r\n0\r\n");
  EXPECT_NE(rest.find("key_revoked"), std::string::npos) << rest;
  EXPECT_TRUE(asked.stream->cancelled());
}

TEST_F(KeyedApiTest, RevokingAKeyEndsItsReadingOfAStream) {
  serve();
  add_tenant("acme");
  const tenancy::IssuedKey key = issue("acme");
  const tenancy::IssuedKey reading = issue("acme");
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(kResumable), bearer(key)));
  const auto asked = worker_->wait_for(0);
  const std::string id = header_of(client, "x-stream-id");
  feed(asked, "one ");
  net::LoopbackClient reader(port_);
  reader.send(net::get_request("/v1/streams/" + id, bearer(reading)));
  reader.read_until("one ");
  revoke(reading);
  EXPECT_NE(reader.read_until("\r\n0\r\n").find("key_revoked"), std::string::npos);
  feed(asked, "two", FinishReason::stop);
  EXPECT_NE(client.read_until("[DONE]").find("two"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::api
