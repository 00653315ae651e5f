#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/http/json/fields.h"
#include "base/json.h"
#include "net/loopback_client.h"
#include "router/residence.h"
#include "router/scripted_model.h"
#include "store/failing_store.h"
#include "store/sqlite_store.h"
#include "store/temp_folder.h"
#include "tenancy/local_counters.h"

namespace kvasir::api {

// The API on a real server, with one scripted model, "m".
class ApiTest : public testing::Test {
 protected:
  // `tools` must outlive the fixture.
  explicit ApiTest(base::Duration headers_after = std::chrono::milliseconds(20),
                   tool::Toolbox* tools = nullptr)
      : options_{.ping_interval = std::chrono::milliseconds(20),
                 .max_waiting_texts = 4,
                 .max_sequences = 10,
                 .headers_after = headers_after,
                 .max_tool_rounds = 3,
                 .anonymous_tier = tier_reader()},
        tools_(tools) {}
  explicit ApiTest(ServiceOptions options, meter::Meter::Options metering = {})
      : options_(std::move(options)), metering_(std::move(metering)) {}
  // The parts that load and unload models while the server runs. They outlive the fixture.
  struct Models {
    const hub::Library& library;
    router::Loader& loader;
  };
  explicit ApiTest(const Models& models)
      : options_{.ping_interval = std::chrono::milliseconds(20)},
        residence_(std::make_unique<router::Residence>(
            router::Residence::Options{.memory = {.budget_bytes = 1000}},
            router::Residence::Parts{router_, models.loader, models.library, clock_})) {}
  ~ApiTest() override {
    if (residence_) residence_->stop();
    api_.stop_batches();
    api_.stop_text_work();
    api_.stop_storing();
    if (server_) server_->stop();
    directory_->stop();
  }

  // Starts the server; call it first. Without a script, the test feeds the streams itself.
  void serve(router::ScriptedWorker::Script script = {}, int context_length = 4096) {
    worker_ = std::make_shared<router::ScriptedWorker>(std::move(script));
    router_.add("m");
    router_.set_ready("m", router::scripted_model(worker_, context_length));
    server_options_.max_body_bytes = 1 << 20;
    server_options_.refusal = Api::refusal(options_);
    server_options_.refuse_head = refuse_head_;
    if (!refuse_head_)
      server_options_.refuse_head = [this](const net::HttpRequest& head) {
        return Api::refuse_caller(*directory_, head);
      };
    server_ = std::make_unique<net::HttpServer>(server_options_, api_.handler());
    auto port = server_->start();
    ASSERT_TRUE(port.ok()) << port.error().message;
    port_ = *port;
    api_.start_batches();
    if (residence_) residence_->start();
  }

  // Gives every caller this tier from now on. At first no caller has limits. The limits' clock stands still.
  void limit_callers(const tenancy::Tier& tier) {
    const std::lock_guard lock(tier_mutex_);
    tier_ = std::make_shared<const tenancy::Tier>(tier);
  }
  // The tokens that an anonymous caller may still use in this minute.
  std::int64_t tokens_left() {
    tenancy::Caller caller = tenancy::anonymous();
    if (const auto tier = options_.anonymous_tier()) caller.tier = tier;
    return admission_.standings(caller).tokens.left;
  }

  // Returns a script that answers with `text`, `step` tokens at a time.
  static router::ScriptedWorker::Script says(std::string text, std::size_t step = 1) {
    return [text = std::move(text), step](const wire::GenerateRequest& request) {
      std::vector<wire::TokenEvent> events;
      for (std::size_t at = 0; at < text.size(); at += step) {
        wire::TokenEvent& event = events.emplace_back();
        event.tokens = router::byte_tokens(std::string_view(text).substr(at, step));
        event.usage = {.prompt_tokens = static_cast<int>(request.prompt.size()), .cached_tokens = 2};
        event.usage.output_tokens = static_cast<int>(std::min(at + step, text.size()));
        if (request.sampling.logprobs)
          for (wire::Token& token : event.tokens)
            token.logprob = wire::TokenLogprob{-0.5f, {{token.id, -0.5f}, {'z', -1.5f}}};
      }
      events.back().finish = wire::FinishReason::stop;
      return events;
    };
  }

  struct Reply {
    int status = 0;
    json::value body;
    std::map<std::string, std::string> headers;
    std::string text;
  };

  Reply exchange(const std::string& request) {
    net::LoopbackClient client(port_);
    client.send(request);
    auto response = client.read_response();
    if (!response) return {};
    auto body = base::parse_json(response->body);
    return {response->status, body.ok() ? *body : json::value(), response->headers, response->body};
  }
  Reply get(const std::string& path) { return exchange(net::get_request(path)); }
  Reply post(const std::string& path, const std::string& body) {
    return exchange(net::post_request(path, body, "Content-Type: application/json\r\n"));
  }

  // The body of a chat request, with the fields in `more` added, e.g. R"(, "n": 2)".
  static std::string chat_body(const std::string& more = "") {
    return R"({"model": "m", "messages": [{"role": "user", "content": "hi"}])" + more + "}";
  }

  // Returns the JSON of a stream's events. Checks that [DONE] is last and leaves it out.
  static std::vector<json::value> events_of(const std::string& stream) {
    std::vector<json::value> events;
    std::size_t at = 0;
    bool done = false;
    while (at < stream.size()) {
      const std::size_t end = stream.find("\n\n", at);
      EXPECT_NE(end, std::string::npos);
      const std::string line = stream.substr(at, end - at);
      at = end + 2;
      if (line.starts_with(":")) continue;
      EXPECT_TRUE(line.starts_with("data: ")) << line;
      EXPECT_FALSE(done) << "after [DONE]: " << line;
      done = line == "data: [DONE]";
      if (!done) events.push_back(base::parse_json(line.substr(6)).value());
    }
    EXPECT_TRUE(done || (!events.empty() && events.back().as_object().contains("error")));
    return events;
  }

  // Returns the built-in tiers and one more, which has neither the model "m" nor much context.
  static std::vector<config::TierConfig> tiers() {
    std::vector<config::TierConfig> all = config::built_in_tiers();
    all.push_back(
        {.name = "narrow", .priority = 7, .max_context = 64, .slo_ttft_ms = 300, .slo_tpot_ms = 40});
    all.push_back({.name = "elsewhere", .models = {"n"}});
    return all;
  }

  std::unique_ptr<meter::Meter> open_meter() {
    metering_.folder = folder_.path() / "usage";
    metering_.fold_interval = std::chrono::milliseconds(5);
    return meter::Meter::open(std::move(metering_), store_->usage()).value();
  }
  // The usage of all requests together so far.
  store::UsageTotals used() {
    store::UsageTotals sum;
    const auto rows = store_->usage().totals({.end_day = 1 << 20}).value();
    for (const store::UsageRow& row : rows) sum += row.totals;
    return sum;
  }

  // Polls until the condition, which other threads make true, holds. Returns false after 20 seconds.
  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::function<std::shared_ptr<const tenancy::Tier>()> tier_reader() {
    return [this] {
      const std::lock_guard lock(tier_mutex_);
      return tier_;
    };
  }

  std::mutex tier_mutex_;
  std::shared_ptr<const tenancy::Tier> tier_;  // guarded by tier_mutex_; null: without limits
  ServiceOptions options_;
  meter::Meter::Options metering_;
  std::function<std::optional<net::RefusedRequest>(const net::HttpRequest&)> refuse_head_;  // before `serve`
  net::ServerOptions server_options_;  // set before `serve`
  base::RealClock clock_;
  obs::Registry registry_;
  router::Router router_;
  base::FakeWallClock wall_clock_{1'800'000'000'000'000};
  std::shared_ptr<tenancy::LocalCounters> counters_ = tenancy::LocalCounters::in_memory(wall_clock_);
  tenancy::Admission admission_{{.max_sequences = 8, .max_sequences_per_tenant = 8}, counters_};
  store::TempFolder folder_;
  std::unique_ptr<store::FailingStore> store_ =
      std::make_unique<store::FailingStore>(store::SqliteStore::open(folder_.path() / "kvasir.db").value());
  std::unique_ptr<tenancy::Directory> directory_ =
      tenancy::Directory::open(store_->accounts(), tiers(), {.poll = std::chrono::milliseconds(5)}).value();
  const std::unique_ptr<meter::Meter> meter_ = open_meter();
  tool::Toolbox* const tools_ = nullptr;
  obs::Tracer tracer_{{.records = true, .sample_rate = 0}, clock_};  // samples no trace
  const std::unique_ptr<router::Residence> residence_ = nullptr;     // null: models stay as they are
  Api api_{options_,
           {router_, admission_, registry_, clock_, *store_, *directory_, *meter_, tools_, tracer_,
            residence_.get()}};
  std::shared_ptr<router::ScriptedWorker> worker_;
  std::unique_ptr<net::HttpServer> server_;
  std::uint16_t port_ = 0;
};

}  // namespace kvasir::api
