#include "engine/device_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/tests_dir_test.h"
#include "engine/engine_bench_test.h"
#include "engine/model_runner.h"
#include "grammar/grammar_compiler.h"
#include "model/checkpoint/checkpoint.h"
#include "model/decoder/packed_draws.h"
#include "ops/draw/host_team.h"

namespace kvasir::engine {
namespace {

constexpr int kBlocks = 160;
constexpr int kHistories = 8;

std::unique_ptr<model::Decoder> load(ops::ComputePool& pool) {
  auto checkpoint = model::open_checkpoint(std::string(base::kTestsDir) + "/golden/models/qwen2");
  auto decoder = model::Decoder::load(std::move(checkpoint).value(), {}, pool);
  return std::move(decoder).value();
}

model::KvCache make_kv(const model::Decoder& decoder) {
  auto kv = model::KvCache::create(decoder.config(), ops::KvType::f16, kBlocks);
  return std::move(kv).value();
}

// Uses the CPU's decoder as a device, and draws with the code of devices. It can spoil rows.
class CpuDevice final : public model::DeviceDecoder {
 public:
  explicit CpuDevice(ops::ComputePool& pool) : decoder_(load(pool)), kv_(make_kv(*decoder_)) {}

  const model::ModelConfig& config() const override { return decoder_->config(); }
  int num_blocks() const override { return kBlocks; }
  std::int64_t kv_block_bytes() const override { return static_cast<std::int64_t>(kv_.image_bytes()); }
  std::string block_form() const override { return kv_.form(); }
  void export_block(std::int32_t block, std::span<std::byte> out) override { kv_.export_block(block, out); }
  void import_block(std::int32_t block, std::span<const std::byte> in) override {
    kv_.import_block(block, in);
  }
  base::Status reserve_kv(int /*num_blocks*/) override { return base::ok(); }
  void copy_block(std::int32_t from, std::int32_t to) override { kv_.copy_block(from, to); }

  int num_histories() const override { return kHistories; }

  void start(const model::StepBatch& batch) override {
    CHECK(started_.size() < 2 && !is_undrawn_, "a third step, or the last one is not drawn");
    is_undrawn_ = true;
    num_rows += static_cast<int>(batch.tokens.size());
    const auto vocab = static_cast<std::size_t>(config().vocab_size);
    model::StepBatch known = batch;
    for (TokenId& token : known.tokens) {
      if (token >= 0) continue;
      ++num_in_flight;
      token = drawn_.at(static_cast<std::size_t>(-1 - token)).token;
    }
    logits_.resize(batch.logit_rows.size() * vocab);
    decoder_->forward(known, kv_, logits_);
  }

  void draw(std::span<const model::RowDraw> draws) override {
    CHECK(std::exchange(is_undrawn_, false), "no step without draws");
    const int vocab = config().vocab_size;
    packed_.pack(draws, vocab, kHistories);
    const auto mask_words = static_cast<std::size_t>(packed_.mask_words);
    std::vector<std::uint32_t> masks(packed_.masks.size() * mask_words);
    for (std::size_t i = 0; i < packed_.masks.size(); ++i)
      packed_.write_mask(i, std::span(masks).subspan(i * mask_words, mask_words));
    counts_.resize(static_cast<std::size_t>(kHistories * ops::count_words(vocab)));
    drawn_.resize(draws.size());
    std::vector<ops::TopToken> top(draws.size() * ops::kMaxTopTokens);
    ops::draw_rows_on_host(
        static_cast<int>(draws.size()),
        {.cols = vocab,
         .logits = logits_.data(),
         .draws = packed_.draws.data(),
         .lists = {packed_.counted.data(), packed_.biases.data(), masks.data(), packed_.mask_words},
         .counts = counts_.data(),
         .drawn = drawn_.data(),
         .top = top.data()});
    Step& step = started_.emplace_back();
    step.top = std::move(top);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      const auto num_top = static_cast<std::size_t>(draws[i].num_top.value_or(0));
      step.choices.push_back({.token = drawn_[i].token,
                              .largest = spoils ? std::numeric_limits<float>::infinity() : drawn_[i].largest,
                              .logprob = drawn_[i].logprob,
                              .top = std::span(step.top).subspan(i * ops::kMaxTopTokens, num_top)});
    }
  }

  base::Status collect(std::span<model::RowChoice> choices) override {
    CHECK(!started_.empty() && started_.front().choices.size() == choices.size(), "other choices");
    last_ = std::move(started_.front());
    started_.pop_front();
    std::ranges::copy(last_.choices, choices.begin());
    return ++num_collected == fails_at ? lost() : base::ok();
  }

  base::Status fetch_logits(int /*row*/, std::span<float> /*logits*/) override {
    CHECK(false, "the host wants logits");
  }

  int num_rows = 0;
  int num_in_flight = 0;
  int num_collected = 0;
  int fails_at = 0;  // this collect() fails
  bool spoils = false;

 private:
  static base::Status lost() { return base::error(base::ErrorCode::internal, "the device is lost"); }

  std::unique_ptr<model::Decoder> decoder_;
  model::KvCache kv_;
  struct Step {
    std::vector<model::RowChoice> choices;
    std::vector<ops::TopToken> top;
  };
  std::vector<float> logits_;
  bool is_undrawn_ = false;
  model::PackedDraws packed_;
  std::vector<std::uint32_t> counts_;
  std::vector<ops::RowDrawn> drawn_;  // of the last step
  std::deque<Step> started_;
  Step last_;
};

EngineOptions options() {
  return {.scheduler = {.num_blocks = kBlocks, .max_batch_tokens = 48, .max_batch_sequences = 8},
          .vocab_size = 320,
          .end_tokens = {2}};
}

wire::GenerateRequest greedy(int first) {
  wire::GenerateRequest request;
  for (int i = 0; i < 30; ++i) request.prompt.push_back(3 + (first + 7 * i) % 300);
  request.sampling.temperature = 0;
  request.max_tokens = 12;
  return request;
}

// A vocabulary of 320 in which token 3 + n is the n-th byte from a space on, and 300 a word.
std::shared_ptr<grammar::CompiledGrammar> grammar_of(const std::string& pattern) {
  grammar::TokenTrie::Vocabulary vocabulary;
  vocabulary.token_bytes.resize(320);
  for (int byte = ' '; byte < 127; ++byte)
    vocabulary.token_bytes[static_cast<std::size_t>(3 + byte - ' ')] =
        std::string(1, static_cast<char>(byte));
  vocabulary.token_bytes[300] = "word";
  vocabulary.end = {2};
  vocabulary.tokenize = [](std::string_view text) {
    std::vector<TokenId> tokens;
    while (!text.empty()) {
      const bool word = text.starts_with("word");
      tokens.push_back(word ? 300 : 3 + text.front() - ' ');
      text.remove_prefix(word ? 4 : 1);
    }
    return tokens;
  };
  grammar::GrammarCompiler compiler(std::make_shared<const grammar::TokenTrie>(std::move(vocabulary)));
  auto compiled = compiler.compile({.kind = grammar::GrammarSource::Kind::regex, .text = pattern});
  CHECK(compiled.ok(), "{}", compiled.error().message);
  return *compiled;
}

// Requests with every kind of drawing, beside each other.
std::vector<wire::GenerateRequest> mixed_requests() {
  std::vector<wire::GenerateRequest> requests(16, greedy(0));
  for (std::size_t i = 1; i < requests.size(); ++i) {
    requests[i] = greedy(static_cast<int>(i % 3));
    requests[i].ignore_eos = i % 2 == 0;
    requests[i].sampling.seed = 10 + i;
    requests[i].sampling.temperature = i % 4 == 1 ? 0.0f : 0.9f;
  }
  requests[3].sampling.frequency_penalty = 0.5f;
  requests[4].sampling.logprobs = true;
  requests[4].sampling.num_top_logprobs = 4;
  requests[5].min_tokens = 6;
  requests[5].stop_tokens = {7};
  requests[6].sampling.top_p = 0.8f;
  requests[7].sampling.top_k = 20;
  requests[8].sampling.min_p = 0.05f;
  requests[9].sampling.repetition_penalty = 1.3f;
  requests[9].sampling.logprobs = true;
  requests[10].sampling.presence_penalty = 1;
  requests[10].sampling.logit_bias = {{30, 4.0f}, {31, -100.0f}, {9999, 1.0f}};
  requests[10].sampling.logprobs = true;
  requests[11].grammar = grammar_of("(?:yes|no) word word word [0-9]{3}(?:a|word b)");
  requests[12].grammar = grammar_of("[a-z]{5}wordword(?: word)*");
  requests[12].min_tokens = 9;
  requests[13].grammar = requests[11].grammar;
  requests[13].sampling.logprobs = true;
  requests[13].sampling.frequency_penalty = 0.3f;
  requests[14].num_prompt_logprobs = 3;
  requests[15].num_prompt_logprobs = 0;
  requests[15].sampling.logprobs = true;
  return requests;
}

std::vector<std::vector<TokenId>> run(Runner& runner, const std::vector<wire::GenerateRequest>& requests) {
  EngineBench bench(options(), runner);
  std::vector<Answer*> answers;
  for (const auto& request : requests) answers.push_back(&bench.submit(request));
  bench.finish();
  std::vector<std::vector<TokenId>> tokens;
  for (const Answer* answer : answers) {
    EXPECT_TRUE(answer->end->finish);
    tokens.push_back(answer->tokens);
  }
  return tokens;
}

void expect_near(const std::optional<wire::TokenLogprob>& got,
                 const std::optional<wire::TokenLogprob>& wanted) {
  ASSERT_EQ(got.has_value(), wanted.has_value());
  if (!got) return;
  EXPECT_NEAR(got->logprob, wanted->logprob, 1e-4);
  ASSERT_EQ(got->top.size(), wanted->top.size());
  for (std::size_t i = 0; i < got->top.size(); ++i) {
    EXPECT_EQ(got->top[i].first, wanted->top[i].first);
    EXPECT_NEAR(got->top[i].second, wanted->top[i].second, 1e-4);
  }
}

TEST(DeviceRunner, GivesWhatTheCpusRunnerGives) {
  ops::ComputePool pool(2);
  auto decoder = load(pool);
  auto kv = make_kv(*decoder);
  ModelRunner on_cpu(std::move(decoder), std::move(kv));
  auto device = std::make_unique<CpuDevice>(pool);
  const CpuDevice& seen = *device;
  DeviceRunner on_device(std::move(device), pool);
  EngineBench benches[2] = {{options(), on_cpu}, {options(), on_device}};
  const std::vector<wire::GenerateRequest> requests = mixed_requests();
  for (EngineBench& bench : benches) {
    for (const auto& request : requests) bench.submit(request);
    bench.finish();
  }
  int num_tokens = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    const Answer& wanted = *benches[0].answers[i];
    const Answer& got = *benches[1].answers[i];
    ASSERT_TRUE(got.end->finish && wanted.end->finish);
    EXPECT_EQ(got.tokens, wanted.tokens);
    EXPECT_EQ(*got.end->finish, *wanted.end->finish);
    EXPECT_EQ(got.end->usage.output_tokens, wanted.end->usage.output_tokens);
    ASSERT_EQ(got.logprobs.size(), wanted.logprobs.size());
    for (std::size_t t = 0; t < got.logprobs.size(); ++t)
      EXPECT_NEAR(got.logprobs[t], wanted.logprobs[t], 1e-4);
    ASSERT_EQ(got.prompt.size(), wanted.prompt.size());
    for (std::size_t t = 0; t < got.prompt.size(); ++t) {
      EXPECT_EQ(got.prompt[t].id, wanted.prompt[t].id);
      expect_near(got.prompt[t].logprob, wanted.prompt[t].logprob);
    }
    num_tokens += static_cast<int>(got.tokens.size());
  }
  EXPECT_EQ(benches[1].answers[14]->prompt.size(), 29u);
  // Every step overlaps with the one before, whatever is drawn.
  EXPECT_GT(seen.num_in_flight, num_tokens / 2);
}

TEST(DeviceRunner, TakesBlocksOfAnotherRunnerAndGivesItsOwn) {
  struct Outlet final : kv::BlockOutlet {
    void put(std::size_t, kv::BlockImage image) override {
      images.push_back(std::make_shared<const kv::BlockImage>(std::move(image)));
    }
    std::vector<std::shared_ptr<const kv::BlockImage>> images;
  };
  ops::ComputePool pool(2);
  auto decoder = load(pool);
  auto kv = make_kv(*decoder);
  ModelRunner on_cpu(std::move(decoder), std::move(kv));
  DeviceRunner on_device(std::make_unique<CpuDevice>(pool), pool);
  EXPECT_EQ(on_device.block_form(), on_cpu.block_form());
  wire::GenerateRequest request = greedy(2);
  for (TokenId token = 3; token < 60; ++token) request.prompt.push_back(token);
  const std::size_t num_full = request.prompt.size() / kv::kBlockTokens;
  const std::vector<TokenId> expected = run(on_cpu, {request})[0];
  for (Runner* const computes : {static_cast<Runner*>(&on_cpu), static_cast<Runner*>(&on_device)}) {
    wire::GenerateRequest prefill = request;
    const auto outlet = std::make_shared<Outlet>();
    prefill.outlet = outlet;
    EXPECT_EQ(run(*computes, {prefill})[0], expected);
    ASSERT_EQ(outlet->images.size(), num_full);
    Runner& answers = computes == &on_cpu ? static_cast<Runner&>(on_device) : on_cpu;
    wire::GenerateRequest loads = request;
    loads.arriving = std::make_shared<kv::ArrivingBlocks>(0, num_full, 1.0);
    for (const auto& image : outlet->images) loads.arriving->add(image);
    EXPECT_EQ(run(answers, {loads})[0], expected);
  }
}

TEST(DeviceRunner, TokensThatTheHostHasNotSeenAreFed) {
  ops::ComputePool pool(2);
  auto decoder = load(pool);
  auto kv = make_kv(*decoder);
  ModelRunner on_cpu(std::move(decoder), std::move(kv));
  std::vector<wire::GenerateRequest> requests(4, greedy(0));
  requests[1] = greedy(5);
  requests[2].max_tokens = 1;
  requests[3] = greedy(11);
  requests[3].ignore_eos = true;
  requests[3].sampling.presence_penalty = 1;
  const auto expected = run(on_cpu, requests);
  auto device = std::make_unique<CpuDevice>(pool);
  CpuDevice& seen = *device;
  DeviceRunner runner(std::move(device), pool);
  EXPECT_EQ(run(runner, requests), expected);
  EXPECT_GE(seen.num_in_flight, 11);
}

// A grammar may force the token that a step in flight would draw. The step then draws nothing, and all forced
// tokens are fed at once.
TEST(DeviceRunner, WhatAGrammarForcesIsFedAtOnce) {
  ops::ComputePool pool(2);
  auto decoder = load(pool);
  auto kv = make_kv(*decoder);
  ModelRunner on_cpu(std::move(decoder), std::move(kv));
  wire::GenerateRequest request = greedy(3);
  request.max_tokens = 60;
  request.grammar =
      grammar_of("(?:a|b) word word word word word word (?:c|d) word word word word word word e[0-9]");
  const auto expected = run(on_cpu, {request});
  ASSERT_GT(expected[0].size(), 25u);
  auto device = std::make_unique<CpuDevice>(pool);
  CpuDevice& seen = *device;
  DeviceRunner runner(std::move(device), pool);
  EXPECT_EQ(run(runner, {request}), expected);
  EXPECT_LT(seen.num_collected, 12);
  EXPECT_LE(seen.num_rows, static_cast<int>(request.prompt.size() + expected[0].size()) + 1);
}

// If there are more sequences with penalties than the device has histories, the sequences take turns with
// them.
TEST(DeviceRunner, HistoriesAreCountedAgain) {
  Histories histories(2);
  EXPECT_EQ(histories.use(7, 10).num_counted, 0u);
  const int of_seven = histories.use(7, 11).history;
  EXPECT_EQ(histories.use(8, 5).num_counted, 0u);
  EXPECT_EQ(histories.use(7, 15).num_counted, 11u);
  const Histories::Use nine = histories.use(9, 3);  // takes the history of 8
  EXPECT_NE(nine.history, of_seven);
  EXPECT_EQ(nine.num_counted, 0u);
  EXPECT_EQ(histories.use(7, 16).num_counted, 15u);
  EXPECT_EQ(histories.use(8, 6).num_counted, 0u);
}

TEST(DeviceRunner, LogitsThatAreNoNumbersEndTheSequence) {
  ops::ComputePool pool(1);
  auto device = std::make_unique<CpuDevice>(pool);
  device->spoils = true;
  DeviceRunner runner(std::move(device), pool);
  EngineBench bench(options(), runner);
  const Answer& answer = bench.submit(greedy(0));
  bench.finish();
  ASSERT_TRUE(answer.end->error);
  EXPECT_EQ(answer.end->error->code, base::ErrorCode::internal);
}

TEST(DeviceRunner, ALostDeviceEndsEverySequence) {
  ops::ComputePool pool(1);
  auto device = std::make_unique<CpuDevice>(pool);
  device->fails_at = 5;
  DeviceRunner runner(std::move(device), pool);
  EngineBench bench(options(), runner);
  for (int i = 0; i < 3; ++i) {
    wire::GenerateRequest request = greedy(i);
    request.ignore_eos = true;
    bench.submit(request);
  }
  bench.finish();
  ASSERT_TRUE(bench.engine.failure());
  EXPECT_EQ(bench.engine.failure()->message, "the device is lost");
  for (const auto& answer : bench.answers) {
    ASSERT_TRUE(answer->end->error);
    EXPECT_EQ(answer->end->error->reason, "engine_failed");
  }
}

}  // namespace
}  // namespace kvasir::engine
