#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/model_grammars.h"
#include "router/router.h"
#include "text/tokenizer/byte_level.h"

// For tests: a model with scripted answers. Its tokens are single bytes, so that every character outside
// ASCII is split between tokens.
namespace kvasir::router {

// `added`: special tokens with ids from 258 on.
inline std::shared_ptr<const text::Tokenizer> byte_tokenizer(std::string chat_template = {},
                                                             const std::vector<std::string>& added = {}) {
  text::Vocabulary vocabulary{.model = "gpt2", .pre = "gpt-2"};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(text::spelling_of_byte(static_cast<unsigned char>(byte)));
    vocabulary.types.push_back(text::TokenType::normal);
  }
  for (const char* control : {"<|im_start|>", "<|im_end|>"}) {
    vocabulary.tokens.emplace_back(control);
    vocabulary.types.push_back(text::TokenType::control);
  }
  for (const std::string& control : added) {
    vocabulary.tokens.push_back(control);
    vocabulary.types.push_back(text::TokenType::control);
  }
  vocabulary.eos = 257;
  vocabulary.chat_template = std::move(chat_template);
  auto tokenizer = text::Tokenizer::from_vocabulary(std::move(vocabulary));
  CHECK(tokenizer.ok(), "{}", tokenizer.error().message);
  return *tokenizer;
}

inline std::vector<wire::Token> byte_tokens(std::string_view text) {
  std::vector<wire::Token> tokens;
  for (const char c : text) tokens.push_back({.id = static_cast<unsigned char>(c)});
  return tokens;
}

// Records its requests. Answers at once with `script`, or holds the stream for the test to feed. Thread-safe.
class ScriptedWorker final : public seam::WorkerClient {
 public:
  using Script = std::function<std::vector<wire::TokenEvent>(const wire::GenerateRequest&)>;

  struct Asked {
    wire::GenerateRequest request;
    std::shared_ptr<seam::TokenStream> stream;
  };

  explicit ScriptedWorker(Script script = {}) : script_(std::move(script)) {}

  base::Result<seam::TokenReader> generate(wire::GenerateRequest request,
                                           boost::asio::any_io_executor reader) override {
    std::unique_lock lock(mutex_);
    if (refusal_) return *refusal_;
    auto stream = std::make_shared<seam::TokenStream>(std::move(reader));
    if (script_)
      for (wire::TokenEvent& event : script_(request)) seam::TokenStream::send({{stream, std::move(event)}});
    asked_.push_back({std::move(request), stream});
    lock.unlock();
    changed_.notify_all();
    return seam::TokenReader(std::move(stream));
  }

  wire::Forecast forecast(const wire::Outline&) const override {
    const std::lock_guard lock(mutex_);
    return forecast_;
  }
  wire::WorkerReport report() const override {
    const std::lock_guard lock(mutex_);
    return report_;
  }

  void refuse_with(base::Error error) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(error);
  }
  void refuse_no_more() {
    const std::lock_guard lock(mutex_);
    refusal_.reset();
  }
  void set_forecast(wire::Forecast forecast) {
    const std::lock_guard lock(mutex_);
    forecast_ = forecast;
  }
  void set_report(wire::WorkerReport report) {
    const std::lock_guard lock(mutex_);
    report_ = report;
  }

  // Blocks until request `number` (from 0) has come, and returns it.
  Asked wait_for(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_.size() > number; });
    return asked_[number];
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const Script script_;
  std::vector<Asked> asked_;            // guarded by mutex_
  std::optional<base::Error> refusal_;  // guarded by mutex_
  wire::WorkerReport report_;           // guarded by mutex_
  wire::Forecast forecast_;             // guarded by mutex_
};

inline GeneratingModel scripted_model(std::shared_ptr<ScriptedWorker> worker, int context_length = 4096) {
  GeneratingModel model;
  model.text.tokenizer = byte_tokenizer();
  model.text.context_length = context_length;
  model.text.fingerprint = "fp_test";
  model.text.chat_template = std::make_shared<const text::ChatTemplate>(text::ChatTemplate::chatml());
  model.text.grammars = make_grammar_compiler(model.text.tokenizer, model.text.tokenizer->end_tokens());
  model.worker = std::move(worker);
  return model;
}

}  // namespace kvasir::router
