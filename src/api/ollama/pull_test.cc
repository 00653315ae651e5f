#include "hub/pull.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "api/ollama/ollama_fixture.h"
#include "hub/digest.h"
#include "router/scripted_model.h"
#include "store/temp_folder.h"

namespace kvasir::api {
namespace {

using router::Phase;

// Pulls a model's real files, and loads a scripted model in their place.
class PullingHost final : public router::Host, public hub::ProgressSink {
 public:
  PullingHost(hub::Model model, router::HostReports& reports, std::filesystem::path model_dir)
      : model_(std::move(model)), reports_(reports), model_dir_(std::move(model_dir)) {}
  ~PullingHost() override { stop(); }

  void fetch() override {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      const auto path = hub::pull(*model_.entry, {.model_dir = model_dir_, .stop = stop}, *this);
      if (stop.stop_requested()) return;
      if (!path.ok()) return reports_.tell_failed(model_.name, path.error());
      reports_.tell_fetched(model_.name, 10);
    });
  }
  void load() override {
    if (thread_.joinable()) thread_.join();
    thread_ = std::jthread([this] {
      reports_.tell_ready(model_.name, router::scripted_model(std::make_shared<router::ScriptedWorker>()),
                          {.weights = 10, .kv = 32}, {});
    });
  }
  void stop() override {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  void bytes(std::string_view, std::uint64_t done, std::uint64_t total) override {
    reports_.tell_state(model_.name, {.phase = Phase::downloading, .done_bytes = done, .total_bytes = total});
  }
  void note(std::string_view, std::string_view) override {}

 private:
  const hub::Model model_;
  router::HostReports& reports_;
  const std::filesystem::path model_dir_;
  std::jthread thread_;
};

class PullingLoader final : public router::Loader {
 public:
  explicit PullingLoader(std::filesystem::path model_dir) : model_dir_(std::move(model_dir)) {}
  std::unique_ptr<router::Host> make_host(const hub::Model& model, router::HostReports& reports) override {
    return std::make_unique<PullingHost>(model, reports, model_dir_);
  }
  std::int64_t estimate(const hub::Model&) const override { return 10; }

 private:
  const std::filesystem::path model_dir_;
};

// A catalogue with two models: the file of one is on this machine, and the file of the other is lost.
struct Shop {
  static hub::Catalogue catalogue(const std::filesystem::path& folder) {
    const std::string content = "weights";
    std::ofstream(folder / "weights.gguf") << content;
    hub::Sha256 hash;
    hash.update(content);
    const std::string digest = hash.finish();
    const auto entry = [&](const std::string& name, const std::string& file) {
      return fmt::format(
          "[[model]]\nname = \"{}\"\ntitle = \"t\"\ndescription = \"d\"\nlicence = \"l\"\n[[model.file]]\n"
          "path = \"weights.gguf\"\nsize = {}\nsha256 = \"{}\"\nsources = [\"file:{}\"]\n",
          name, content.size(), digest, (folder / file).string());
    };
    return hub::Catalogue::parse(entry("small", "weights.gguf") + entry("lost", "gone.gguf"), "test").value();
  }

  store::TempFolder shop_;
  const hub::Library library_{catalogue(shop_.path()), shop_.path() / "models"};
  PullingLoader loader_{shop_.path() / "models"};
};

class PullTest : protected Shop, public OllamaTest {
 protected:
  PullTest() : OllamaTest(Models{library_, loader_}) {}
};

TEST_F(PullTest, APullTellsHowItGoes) {
  serve();
  const Reply reply = post("/api/pull", R"({"model": "small:latest"})");
  ASSERT_EQ(reply.status, 200) << reply.text;
  const auto lines = lines_of(reply.text);
  EXPECT_EQ(lines.front().at("status").as_string(), "pulling manifest");
  EXPECT_EQ(lines.back().at("status").as_string(), "success");
  const auto progress = std::ranges::find_if(lines, [](const json::value& line) {
    const json::value* done = line.as_object().if_contains("completed");
    return done != nullptr && done->as_int64() == 7;
  });
  ASSERT_NE(progress, lines.end()) << reply.text;
  EXPECT_EQ(progress->at("total").as_int64(), 7);
  EXPECT_TRUE(progress->at("digest").as_string().starts_with("sha256:"));
  EXPECT_TRUE(std::filesystem::exists(shop_.path() / "models" / "small" / "weights.gguf"));
  EXPECT_EQ(post("/api/pull", R"({"name": "small", "stream": false})").body.at("status").as_string(),
            "success");
}

TEST_F(PullTest, WhatCannotBePulledIsAnError) {
  serve();
  const Reply unknown = post("/api/pull", R"({"model": "smal"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.text.find("did you mean 'small'"), std::string::npos) << unknown.text;
  EXPECT_EQ(post("/api/pull", R"({"model": "../etc"})").status, 404);
  EXPECT_EQ(post("/api/pull", "{}").status, 400);
  const auto lines = lines_of(post("/api/pull", R"({"model": "lost"})").text);
  EXPECT_TRUE(lines.back().as_object().contains("error")) << base::json_text(lines.back());
  const Reply lost = post("/api/pull", R"({"model": "lost", "stream": false})");
  EXPECT_GE(lost.status, 500);
  EXPECT_TRUE(lost.body.as_object().contains("error"));
}

TEST_F(PullTest, WhereThereAreKeysOnlyAnAdminPulls) {
  serve();
  add_tenant("acme");
  const auto key = issue("acme");
  const auto admin = issue("acme", Scope::admin);
  const std::string body = R"({"model": "small", "stream": false})";
  EXPECT_EQ(post("/api/pull", body).status, 401);
  EXPECT_EQ(post_with("/api/pull", body, bearer(key)).status, 403);
  EXPECT_EQ(post_with("/api/pull", body, bearer(admin)).status, 200);
}

TEST_F(PullTest, WhatWasLostIsPulledOnceItIsThere) {
  serve();
  EXPECT_GE(post("/api/pull", R"({"model": "lost", "stream": false})").status, 500);
  std::filesystem::copy(shop_.path() / "weights.gguf", shop_.path() / "gone.gguf");
  EXPECT_EQ(post("/api/pull", R"({"model": "lost", "stream": false})").status, 200);
  EXPECT_EQ(post("/v1/models/pull", R"({"model": "lost"})").status, 200);
  EXPECT_TRUE(std::filesystem::exists(shop_.path() / "models" / "lost" / "weights.gguf"));
}

TEST_F(PullTest, WithoutAPromptAModelComesAndGoes) {
  serve();
  const auto generate = [&](const std::string& more) {
    return post("/api/generate", R"({"model": "small:latest")" + more + "}");
  };
  const auto sizes = [&] {
    std::vector<std::int64_t> sizes;
    const Reply running = get("/api/ps");
    for (const json::value& model : running.body.at("models").as_array())
      if (model.at("name").as_string() == "small:latest") sizes.push_back(model.at("size").as_int64());
    return sizes;
  };
  EXPECT_TRUE(sizes().empty());
  const Reply load = generate("");
  ASSERT_EQ(load.status, 200) << load.text;
  EXPECT_EQ(load.body.at("done_reason").as_string(), "load");
  EXPECT_EQ(sizes(), std::vector<std::int64_t>{42});
  const Reply unload = generate(R"(, "keep_alive": 0)");
  ASSERT_EQ(unload.status, 200) << unload.text;
  EXPECT_EQ(unload.body.at("done_reason").as_string(), "unload");
  EXPECT_FALSE(unload.headers.contains("x-kvasir-warning"));
  EXPECT_TRUE(sizes().empty());
  EXPECT_FALSE(router_.has("small"));
}

TEST_F(PullTest, WithKeysNoTenantLoadsOrUnloads) {
  serve();
  ASSERT_EQ(post("/api/generate", R"({"model": "small"})").status, 200);
  add_tenant("acme");
  const auto key = issue("acme");
  EXPECT_EQ(post_with("/api/generate", R"({"model": "lost"})", bearer(key)).status, 404);
  const Reply kept = post_with("/api/generate", R"({"model": "small", "keep_alive": 0})", bearer(key));
  EXPECT_EQ(kept.headers.at("x-kvasir-warning"), "keep_alive: ignored, a served model stays loaded");
  EXPECT_TRUE(router_.has("small"));
}

}  // namespace
}  // namespace kvasir::api
