#include "gateway/gateway.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/tests_dir_test.h"
#include "net/loopback_client.h"
#include "store/open.h"
#include "text/tokenizer/byte_level.h"

namespace kvasir::gateway {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class SilentProgress final : public hub::ProgressSink {
 public:
  void bytes(std::string_view, std::uint64_t, std::uint64_t) override {}
  void note(std::string_view, std::string_view) override {}
};

// A byte-level tokenizer without merges, with 256 tokens and the two of ChatML.
std::string tokenizer_json() {
  json::object vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab[text::spelling_of_byte(static_cast<unsigned char>(byte))] = byte;
  }
  json::array added;
  for (const auto& [content, id] : {std::pair("<|im_start|>", 256), std::pair("<|im_end|>", 257)})
    added.push_back(json::object{{"id", id}, {"content", content}, {"special", true}});
  const json::object byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  return json::serialize(
      json::object{{"added_tokens", added},
                   {"pre_tokenizer", byte_level},
                   {"decoder", byte_level},
                   {"model", json::object{{"type", "BPE"}, {"vocab", vocab}, {"merges", json::array{}}}}});
}

// The whole server with a tiny random model. Everything else is real.
class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    std::string pattern = (fs::temp_directory_path() / "kvasir-gateway-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    folder_ = pattern;
    const fs::path golden = fs::path(base::kTestsDir) / "golden/models/llama";
    fs::create_directory(folder_ / "tiny");
    for (const char* file : {"config.json", "model.safetensors"})
      fs::copy(golden / file, folder_ / "tiny" / file);
    std::ofstream(folder_ / "tiny/tokenizer.json") << tokenizer_json();
    settings_.port = 0;
    settings_.model = {(folder_ / "tiny").string()};
    settings_.model_dir = (folder_ / "models").string();
    settings_.data_dir = (folder_ / "data").string();
    settings_.compute_threads = 2;
    settings_.kv_memory_mb = 4;
    settings_.offline = true;
  }
  ~GatewayTest() override {
    gateway_.reset();
    fs::remove_all(folder_);
  }

  void start() {
    auto gateway = Gateway::start(settings_, progress_, {});
    ASSERT_TRUE(gateway.ok()) << gateway.error().message;
    gateway_ = std::move(*gateway);
    ASSERT_TRUE(eventually([&] { return gateway_->models()[0].state.phase == router::Phase::ready; }));
  }

  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  static std::string chat_body(int number, int max_tokens, const std::string& more = "") {
    return fmt::format(
        R"({{"model": "tiny", "messages": [{{"role": "user", "content": "Number {} of the same long story"}}],)"
        R"( "seed": 3, "ignore_eos": true, "max_tokens": {}{}}})",
        number, max_tokens, more);
  }

  net::RawResponse post(const std::string& body) {
    net::LoopbackClient client(gateway_->port());
    client.send(net::post_request("/v1/chat/completions", body));
    auto response = client.read_response();
    return response ? *response : net::RawResponse{};
  }

  static std::string text_of(const net::RawResponse& response) {
    const auto body = base::parse_json(response.body);
    if (response.status != 200 || !body.ok()) return "status " + std::to_string(response.status);
    return std::string(body->at_pointer("/choices/0/message/content").as_string());
  }

  static std::string streamed_text(const net::RawResponse& response) {
    std::string text;
    std::size_t at = 0;
    while ((at = response.body.find("data: {", at)) != std::string::npos) {
      const std::size_t end = response.body.find("\n\n", at);
      const auto event = base::parse_json(response.body.substr(at + 6, end - at - 6)).value();
      const json::value& delta = event.at_pointer("/choices/0/delta");
      if (const json::value* content = delta.as_object().if_contains("content")) text += content->as_string();
      at = end;
    }
    return text;
  }

  wire::WorkerReport report() const { return *gateway_->models()[0].report; }

  config::Settings settings_;
  SilentProgress progress_;
  fs::path folder_;
  std::unique_ptr<Gateway> gateway_;
};

TEST_F(GatewayTest, AnswersStreamedAloneAndInABatchAreTheSame) {
  start();
  const std::string alone = text_of(post(chat_body(1, 40)));
  EXPECT_FALSE(alone.empty());
  EXPECT_EQ(streamed_text(post(chat_body(1, 40, R"(, "stream": true)"))), alone);
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < texts.size(); ++i)
    threads.emplace_back([&, i] {
      const bool other = i % 2 == 1;
      texts[i] = text_of(post(chat_body(other ? static_cast<int>(i) + 2 : 1, 40)));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < texts.size(); i += 2) EXPECT_EQ(texts[i], alone);
}

TEST_F(GatewayTest, EveryBlockComesBackAfterAborts) {
  settings_.max_batch_sequences = 4;
  start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 24; ++i)
    threads.emplace_back([this, i] {
      net::LoopbackClient client(gateway_->port());
      client.send(net::post_request("/v1/chat/completions", chat_body(i % 5, 300, R"(, "stream": true)")));
      if (i % 3 != 0) client.read_until("\"content\":\"");
      if (i % 4 == 3) client.read_response();
      client.reset();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return report().num_running + report().num_waiting == 0; }));
  EXPECT_EQ(report().num_free_blocks, report().num_blocks);
  EXPECT_GT(report().num_blocks, 0);
}

// The lines are started before the models are ready, and wait for them.
TEST_F(GatewayTest, ABatchThatALastProcessLeftIsFinished) {
  const store::Batch left{.id = "batch_left", .tenant = "anonymous", .endpoint = "/v1/chat/completions"};
  const store::Key key{left.tenant, left.id};
  std::vector<store::BatchLine> lines;
  for (int i = 1; i <= 20; ++i) lines.push_back({i, fmt::format("line {}", i), chat_body(i, 4)});
  {
    const auto store = store::open_store(settings_).value();
    ASSERT_TRUE(store->batches().add(left).ok());
    ASSERT_TRUE(store->batches().begin(key, lines, 1).ok());
  }
  start();
  const auto store = store::open_store(settings_).value();
  const auto found = [&] { return store->batches().find(key).value(); };
  ASSERT_TRUE(eventually([&] { return found().status == store::BatchStatus::completed; }));
  EXPECT_EQ(found().num_completed, 20);
  EXPECT_EQ(found().num_failed, 0);
}

TEST_F(GatewayTest, AModelThatCannotBeLoadedHarmsNoOther) {
  std::ofstream(folder_ / "bad.gguf") << "GGUF and then nothing";
  settings_.model.push_back((folder_ / "bad.gguf").string());
  start();
  ASSERT_TRUE(eventually([&] { return gateway_->models()[1].state.phase == router::Phase::failed; }));
  EXPECT_NE(gateway_->models()[1].state.reason.find("bad.gguf"), std::string::npos);
  EXPECT_EQ(post(chat_body(1, 4)).status, 200);
}

TEST_F(GatewayTest, PagesOfOtherSitesAndNamesOfOthersAreRefused) {
  start();
  const auto code_of = [&](const std::string& headers) {
    net::LoopbackClient client(gateway_->port());
    const std::string body = chat_body(1, 4);
    client.send("POST /v1/chat/completions HTTP/1.1\r\n" + headers +
                "Content-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body);
    const net::RawResponse response = client.read_response().value_or(net::RawResponse{});
    if (response.status == 200) return std::string();
    return std::string(base::parse_json(response.body).value().at("error").at("code").as_string());
  };
  EXPECT_EQ(code_of("Host: localhost\r\nOrigin: https://evil.example\r\n"), "origin_not_allowed");
  EXPECT_EQ(code_of("Host: evil.example\r\n"), "host_not_allowed");
  EXPECT_EQ(code_of("Host: localhost\r\n"), "");
}

// The process decides what to do about a failed engine. Here it does nothing.
TEST_F(GatewayTest, AnEngineThatFailsTellsEverybodyAndHarmsNoOther) {
  fs::copy(folder_ / "tiny", folder_ / "other");
  settings_.model.push_back((folder_ / "other").string());
  settings_.fail_at_step = 60;
  std::atomic<int> num_told = 0;
  auto gateway = Gateway::start(settings_, progress_, [&](const std::string& name, const auto& state) {
    if (state.phase == router::Phase::restarting && name == "tiny") ++num_told;
  });
  ASSERT_TRUE(gateway.ok());
  gateway_ = std::move(*gateway);
  const auto get = [&](const std::string& path) {
    net::LoopbackClient client(gateway_->port());
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client.read_response().value_or(net::RawResponse{});
  };
  ASSERT_TRUE(eventually([&] {
    return std::ranges::all_of(gateway_->models(),
                               [](const auto& model) { return model.state.phase == router::Phase::ready; });
  }));
  EXPECT_EQ(get("/health/ready").status, 200);
  const net::RawResponse stream = post(chat_body(1, 400, R"(, "stream": true)"));
  EXPECT_NE(stream.body.find("\"content\":\""), std::string::npos);
  EXPECT_NE(stream.body.find("\"code\":\"engine_failed\""), std::string::npos) << stream.body;
  EXPECT_EQ(stream.body.find("[DONE]"), std::string::npos);
  ASSERT_TRUE(eventually([&] { return num_told == 1; }));
  const net::RawResponse refused = post(chat_body(2, 4));
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("\"code\":\"engine_failed\""), std::string::npos) << refused.body;
  EXPECT_EQ(get("/health/ready").status, 503);
  EXPECT_NE(get("/health/ready").body.find("\"status\":\"restarting\""), std::string::npos);
  EXPECT_EQ(get("/health/progress").status, 503);
  EXPECT_EQ(get("/health/live").status, 200);
  EXPECT_NE(get("/v1/models/tiny").body.find("\"state\":\"restarting\""), std::string::npos);
  EXPECT_NE(get("/metrics").body.find("llm_worker_failed{model=\"tiny\"} 1"), std::string::npos);
  std::string other = chat_body(1, 4);
  other.replace(other.find("tiny"), 4, "other");
  EXPECT_EQ(post(other).status, 200);
  EXPECT_TRUE(gateway_->drain(api::Api::Drain::restart));
  const net::RawResponse late = post(other);
  EXPECT_EQ(late.status, 503);
  EXPECT_NE(late.body.find("\"code\":\"engine_failed\""), std::string::npos) << late.body;
}

TEST_F(GatewayTest, DrainFinishesWhatRuns) {
  start();
  net::LoopbackClient client(gateway_->port());
  client.send(net::post_request("/v1/chat/completions", chat_body(1, 200, R"(, "stream": true)")));
  client.read_until("\"content\":\"");
  EXPECT_TRUE(gateway_->drain());
  const std::string rest = client.read_until("[DONE]");
  EXPECT_NE(rest.find("\"finish_reason\":\"length\""), std::string::npos);
  EXPECT_EQ(post(chat_body(1, 1)).status, 503);
}

TEST_F(GatewayTest, WhatIsCutOffIsToldWhy) {
  settings_.max_batch_sequences = 1;
  settings_.drain_timeout_s = 0;
  start();
  std::vector<net::LoopbackClient> clients;
  for (int i = 0; i < 30; ++i) {
    clients.emplace_back(gateway_->port());
    clients.back().send(net::post_request("/v1/chat/completions", chat_body(i, 400, R"(, "stream": true)")));
  }
  for (net::LoopbackClient& client : clients) client.read_until("\"role\":\"assistant\"");
  EXPECT_FALSE(gateway_->drain());
  gateway_.reset();
  const std::string last = clients.back().read_until("0\r\n\r\n");
  EXPECT_NE(last.find("shutting down"), std::string::npos) << last;
  EXPECT_NE(last.find("\"code\":\"server_draining\""), std::string::npos) << last;
  EXPECT_EQ(last.find("[DONE]"), std::string::npos);
}

TEST_F(GatewayTest, WhatCannotBeServedIsAnError) {
  settings_.model = {"no-such-model"};
  EXPECT_FALSE(Gateway::start(settings_, progress_, {}).ok());
  settings_.model = {(folder_ / "tiny").string(), (folder_ / "tiny").string()};
  EXPECT_FALSE(Gateway::start(settings_, progress_, {}).ok());
  settings_.model = {(folder_ / "tiny").string()};
  start();
  settings_.port = gateway_->port();
  const auto second = Gateway::start(settings_, progress_, {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find(std::to_string(settings_.port)), std::string::npos);
  EXPECT_NE(second.error().message.find("--port"), std::string::npos);
}

TEST_F(GatewayTest, ModelsThatAreNotForServingAreNamed) {
  settings_.model = {"stories15m"};
  const auto gateway = Gateway::start(settings_, progress_, {});
  ASSERT_FALSE(gateway.ok());
  for (const char* word : {"stories15m", "llama2.c"})
    EXPECT_NE(gateway.error().message.find(word), std::string::npos) << gateway.error().message;
}

TEST_F(GatewayTest, OfflineNothingIsCalledDownloading) {
  settings_.model = {"smollm2"};
  std::vector<router::ModelState> states;  // written by the host's thread until it has failed
  std::atomic<bool> failed = false;
  auto gateway = Gateway::start(settings_, progress_, [&](const std::string&, const router::ModelState& s) {
    states.push_back(s);
    failed = s.phase == router::Phase::failed;
  });
  ASSERT_TRUE(gateway.ok());
  ASSERT_TRUE(eventually([&] { return failed.load(); }));
  for (const router::ModelState& state : states) EXPECT_NE(state.phase, router::Phase::downloading);
}

TEST_F(GatewayTest, AContextThatIsCutSaysWhyAndNamesBothNumbers) {
  const auto said = [&] {
    std::string reason;
    std::atomic<bool> ready = false;
    auto gateway = Gateway::start(settings_, progress_, [&](const std::string&, const router::ModelState& s) {
      if (s.phase != router::Phase::ready) return;
      reason = s.reason;
      ready = true;
    });
    EXPECT_TRUE(gateway.ok());
    EXPECT_TRUE(eventually([&] { return ready.load(); }));
    return std::pair(common_text(*(*gateway)->models()[0].text).context_length, reason);
  };
  settings_.max_context = 100;
  EXPECT_EQ(said(), std::pair(100, std::string()));
  settings_.max_context = 600;
  EXPECT_EQ(said(),
            std::pair(512, std::string("context of 512 tokens instead of 600: the model has no more")));
  const fs::path config = folder_ / "tiny/config.json";
  std::ifstream in(config);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  json::value parsed = json::parse(text);
  parsed.as_object()["max_position_embeddings"] = 1 << 20;
  std::ofstream(config) << json::serialize(parsed);
  settings_.max_context = 1'000'000;
  settings_.kv_memory_mb = 1;
  const auto [held, why] = said();
  EXPECT_LT(held, 1'000'000);
  EXPECT_EQ(why, fmt::format("context of {} tokens instead of 1000000: the KV cache of 1 MiB holds no more; "
                             "raise --kv-memory-mb",
                             held));
}

}  // namespace
}  // namespace kvasir::gateway
