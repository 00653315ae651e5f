#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "api/api_fixture.h"

namespace kvasir::api {

// An embedder whose vector is (tokens, first token, 0, 0), not normalized, so that tests can read it.
class ScriptedEmbedder final : public seam::EmbedClient {
 public:
  base::Status embed(wire::EmbedRequest request, Done done) override {
    std::unique_lock lock(mutex_);
    if (refusal_) return *refusal_;
    if (holds_) {
      held_ = {std::move(request), std::move(done)};
      lock.unlock();
      changed_.notify_all();
      return base::ok();
    }
    std::vector<float> out;
    for (const auto& tokens : request.sequences) {
      out.push_back(static_cast<float>(tokens.size()));
      out.push_back(static_cast<float>(tokens.front()));
      out.insert(out.end(), {0.0f, 0.0f});
    }
    done(std::move(out));
    return base::ok();
  }
  int dimensions() const override { return 4; }
  wire::WorkerReport report() const override { return {.num_waiting = 3}; }

  void refuse_with(base::Error error) { refusal_ = std::move(error); }
  void hold() { holds_ = true; }
  // Blocks until a request is held.
  std::stop_token wait_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_.has_value(); });
    return held_->first.stop;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<base::Error> refusal_;                       // set before the first request
  bool holds_ = false;                                       // set before the first request
  std::optional<std::pair<wire::EmbedRequest, Done>> held_;  // guarded by mutex_
};

// The API with one more model, "e": its tokens are bytes, its context is 8 tokens, its vectors are scripted.
class EmbedTest : public ApiTest {
 protected:
  EmbedTest() {
    serve(says("x"));
    router_.add("e");
    router::EmbeddingModel model;
    model.text.tokenizer = router::byte_tokenizer();
    model.text.context_length = 8;
    model.text.fingerprint = "fp_test";
    model.text.dimensions = embedder_->dimensions();
    model.worker = embedder_;
    router_.set_ready("e", std::move(model));
  }

  static std::string error_of(const Reply& reply, const char* key) {
    return std::string(reply.body.at("error").at(key).as_string());
  }

  std::shared_ptr<ScriptedEmbedder> embedder_ = std::make_shared<ScriptedEmbedder>();
};

}  // namespace kvasir::api
