#include "engine/model_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>
#include <string_view>

#include "base/tests_dir_test.h"
#include "engine/engine_bench_test.h"
#include "grammar/grammar_compiler.h"
#include "model/checkpoint/checkpoint.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::engine {
namespace {

constexpr int kBlocks = 160;

struct Output {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  bool operator==(const Output&) const = default;
};

// A golden model in an engine. A new bench has a cold cache.
class ModelBench {
 public:
  ModelBench(const std::string& name, sched::SchedulerOptions options) {
    auto checkpoint = model::open_checkpoint(std::string(base::kTestsDir) + "/golden/models/" + name);
    auto decoder = model::Decoder::load(std::move(checkpoint).value(), {}, pool_);
    const model::ModelConfig config = decoder.value()->config();
    auto kv = model::KvCache::create(config, ops::KvType::f16, options.num_blocks);
    runner_ = std::make_unique<ModelRunner>(std::move(decoder).value(), std::move(kv).value());
    bench = std::make_unique<EngineBench>(
        EngineOptions{.scheduler = options, .vocab_size = config.vocab_size, .end_tokens = {2}}, *runner_);
  }

  std::vector<Output> run(const std::vector<wire::GenerateRequest>& requests) {
    std::vector<Answer*> answers;
    for (const auto& request : requests) answers.push_back(&bench->submit(request));
    bench->finish();
    std::vector<Output> outputs;
    for (const Answer* answer : answers) {
      EXPECT_TRUE(answer->end->finish);
      outputs.push_back({answer->tokens, answer->logprobs});
    }
    return outputs;
  }

 private:
  ops::ComputePool pool_{2};
  std::unique_ptr<ModelRunner> runner_;

 public:
  std::unique_ptr<EngineBench> bench;
};

// Greedy and seeded requests, with and without penalties and biases; half of them share their first 40
// tokens.
std::vector<wire::GenerateRequest> mixed_requests() {
  std::vector<wire::GenerateRequest> requests;
  for (int i = 0; i < 16; ++i) {
    wire::GenerateRequest request;
    for (int t = 0; t < 20 + 5 * i; ++t) request.prompt.push_back(3 + (t * 7 + (t < 40 ? i % 2 : i)) % 300);
    request.max_tokens = 20;
    request.ignore_eos = true;
    request.sampling.temperature = i % 3 == 0 ? 0.0f : 0.9f;
    request.sampling.top_p = i % 3 == 1 ? 0.8f : 1.0f;
    request.sampling.presence_penalty = i % 5 == 0 ? 0.5f : 0.0f;
    request.sampling.seed = 100 + i;
    request.sampling.logprobs = true;
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(ModelRunner, SameBytesAloneInABatchWarmAndPreempted) {
  const std::vector<wire::GenerateRequest> requests = mixed_requests();
  for (const char* name : {"llama", "qwen2"}) {
    std::vector<Output> alone;
    ModelBench cold(name, {.num_blocks = kBlocks, .prefix_cache = false});
    for (const auto& request : requests) {
      alone.push_back(cold.run({request})[0]);
      ASSERT_EQ(alone.back().tokens.size(), 20u);
    }
    ModelBench batch(name, {.num_blocks = kBlocks});
    EXPECT_EQ(batch.run(requests), alone) << name;
    EXPECT_EQ(batch.run(requests), alone) << name << ", warm";
    EXPECT_GT(batch.bench->engine.stats().sequences.num_cached_tokens, 500);
    std::int64_t num_preemptions = 0;
    for (const int num_blocks : {9, 12, 16, 20}) {
      ModelBench tight(name, {.num_blocks = num_blocks, .max_batch_tokens = 37});
      EXPECT_EQ(tight.run(requests), alone) << name << ", preempted and in small chunks";
      num_preemptions += tight.bench->engine.stats().sequences.num_preemptions;
    }
    EXPECT_GT(num_preemptions, 0);
  }
}

// The first alternative of a prompt token is the token that would follow if the prompt ended before it.
TEST(ModelRunner, LogprobsOfAPrompt) {
  wire::GenerateRequest request = mixed_requests()[15];
  request.sampling.temperature = 0;
  request.sampling.presence_penalty = 0;
  request.max_tokens = 1;
  std::vector<std::pair<TokenId, float>> expected;
  ModelBench plain("llama", {.num_blocks = kBlocks});
  for (std::size_t size = 1; size < request.prompt.size(); ++size) {
    wire::GenerateRequest part = request;
    part.prompt.resize(size);
    const Output output = plain.run({part})[0];
    expected.emplace_back(output.tokens[0], output.logprobs[0]);
  }
  request.num_prompt_logprobs = 1;
  request.max_tokens = 10;
  const auto check = [&](ModelBench& model, const char* how) {
    std::vector<Answer*> answers;
    for (const wire::GenerateRequest& other : mixed_requests()) model.bench->submit(other);
    for (int i = 0; i < 3; ++i) answers.push_back(&model.bench->submit(request));
    model.bench->finish();
    for (const Answer* answer : answers) {
      ASSERT_EQ(answer->prompt.size(), expected.size()) << how;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(answer->prompt[i].id, request.prompt[i + 1]);
        EXPECT_EQ(answer->prompt[i].logprob->top[0], expected[i]) << how << ' ' << i;
        EXPECT_LE(answer->prompt[i].logprob->logprob, expected[i].second);
      }
    }
  };
  check(plain, "warm");
  ModelBench tight("llama", {.num_blocks = 16, .max_batch_tokens = 37});
  check(tight, "preempted and in small chunks");
  EXPECT_GT(tight.bench->engine.stats().sequences.num_preemptions, 0);
}

// Tokens 3 to 258 are the bytes, 2 ends the text, and the others have no text.
std::unique_ptr<grammar::GrammarCompiler> byte_grammars() {
  grammar::TokenTrie::Vocabulary vocabulary;
  vocabulary.token_bytes.resize(320);
  for (int b = 0; b < 256; ++b) vocabulary.token_bytes[3 + b] = std::string(1, static_cast<char>(b));
  vocabulary.end = {2};
  vocabulary.tokenize = [](std::string_view text) {
    std::vector<TokenId> tokens;
    for (const char c : text) tokens.push_back(3 + static_cast<unsigned char>(c));
    return tokens;
  };
  return std::make_unique<grammar::GrammarCompiler>(
      std::make_shared<const grammar::TokenTrie>(std::move(vocabulary)));
}

TEST(ModelRunner, AGrammarHoldsAloneInABatchAndPreempted) {
  const auto compiler = byte_grammars();
  const char* pattern = "[a-j]{5,15}<<<=====>>>[xy]{0,9}!";
  const auto compiled = compiler->compile({.kind = grammar::GrammarSource::Kind::regex, .text = pattern});
  std::vector<wire::GenerateRequest> requests = mixed_requests();
  for (std::size_t i = 0; i < requests.size(); i += 2) {
    requests[i].grammar = *compiled;
    requests[i].max_tokens = 60;
    requests[i].min_tokens = i % 4 == 0 ? 55 : 0;  // the grammar ends earlier
    requests[i].ignore_eos = false;
    requests[i].sampling.logprobs = i % 8 < 4;  // requests without logprobs take forced tokens in one step
  }
  std::vector<Output> alone;
  ModelBench cold("llama", {.num_blocks = kBlocks, .prefix_cache = false});
  for (const auto& request : requests) alone.push_back(cold.run({request})[0]);
  for (std::size_t i = 0; i < requests.size(); i += 2) {
    std::string text;
    for (const TokenId id : alone[i].tokens) text += static_cast<char>(id - 3);
    EXPECT_TRUE(std::regex_match(text, std::regex(pattern))) << text;
  }
  ModelBench batch("llama", {.num_blocks = kBlocks});
  EXPECT_EQ(batch.run(requests), alone);
  EXPECT_EQ(batch.run(requests), alone);
  ModelBench tight("llama", {.num_blocks = 16, .max_batch_tokens = 37});
  EXPECT_EQ(tight.run(requests), alone);
  EXPECT_GT(tight.bench->engine.stats().sequences.num_preemptions, 0);
}

// Another engine goes on after every possible cut with the same tokens and logprobs, in a batch of all cuts.
void expect_resumed(const wire::GenerateRequest& request, const Output& whole, bool prefix_cache) {
  ModelBench model("llama", {.num_blocks = kBlocks, .prefix_cache = prefix_cache});
  std::vector<Answer*> rests;
  for (std::size_t k = 0; k <= whole.tokens.size(); ++k) {
    wire::GenerateRequest cut = request;
    cut.resumed.assign(whole.tokens.begin(), whole.tokens.begin() + std::ptrdiff_t(k));
    rests.push_back(&model.bench->submit(std::move(cut)));
  }
  model.bench->finish();
  for (std::size_t k = 0; k < rests.size(); ++k) {
    const auto from = std::ptrdiff_t(k);
    EXPECT_EQ(rests[k]->tokens, std::vector(whole.tokens.begin() + from, whole.tokens.end())) << k;
    if (request.sampling.logprobs) {
      EXPECT_EQ(rests[k]->logprobs, std::vector(whole.logprobs.begin() + from, whole.logprobs.end())) << k;
    }
    ASSERT_TRUE(rests[k]->end->finish) << k;
    EXPECT_EQ(rests[k]->end->finish, rests[0]->end->finish);
    EXPECT_EQ(rests[k]->end->usage.output_tokens, rests[0]->end->usage.output_tokens);
    EXPECT_EQ(rests[k]->prompt.empty(), k > 0 || !request.num_prompt_logprobs);
  }
}

TEST(ModelRunner, CutAnywhereTheRestIsTheSame) {
  const auto compiler = byte_grammars();
  const auto compiled = compiler->compile(
      {.kind = grammar::GrammarSource::Kind::regex, .text = "[a-j]{5,15}<<<=====>>>[xy]{0,9}!"});
  std::vector<wire::GenerateRequest> requests = mixed_requests();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    wire::GenerateRequest& request = requests[i];
    request.sampling.frequency_penalty = i % 5 == 1 ? 0.4f : 0.0f;
    request.sampling.repetition_penalty = i % 5 == 2 ? 1.3f : 1.0f;
    request.sampling.min_p = i % 4 == 1 ? 0.05f : 0.0f;
    request.sampling.top_k = i % 4 == 2 ? 7 : 0;
    if (i % 4 == 3) request.sampling.logit_bias = {{40, 3.0f}, {41, -5.0f}};
    if (i % 2 == 0) {
      request.grammar = *compiled;
      request.max_tokens = i == 6 ? 18 : 60;
      request.ignore_eos = false;
      request.sampling.logprobs = i % 8 < 4;  // requests without logprobs take forced tokens in one step
    } else {
      request.ignore_eos = i % 3 == 0;
      request.min_tokens = i % 4 == 1 ? 10 : 0;
      if (!request.ignore_eos) request.sampling.logit_bias.emplace_back(2, 6.0f);
    }
    if (i == 9) request.num_prompt_logprobs = 1;
  }
  ModelBench cold("llama", {.num_blocks = kBlocks, .prefix_cache = false});
  int num_early = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    const Output whole = cold.run({requests[i]})[0];
    num_early += std::ssize(whole.tokens) < requests[i].max_tokens ? 1 : 0;
    expect_resumed(requests[i], whole, false);
    expect_resumed(requests[i], whole, true);
  }
  EXPECT_GT(num_early, 4);
}

TEST(ModelRunner, AResumedOutputThatTheGrammarRefusesIsAnError) {
  const auto compiler = byte_grammars();
  wire::GenerateRequest request = mixed_requests()[0];
  request.grammar =
      *compiler->compile({.kind = grammar::GrammarSource::Kind::regex, .text = "[a-j]{2}<<[xy]"});
  request.resumed = {3 + 'a', 3 + 'z'};
  ModelBench model("llama", {.num_blocks = kBlocks});
  const Answer& answer = model.bench->submit(request);
  model.bench->finish();
  ASSERT_TRUE(answer.end->error);
  EXPECT_EQ(answer.end->error->code, base::ErrorCode::invalid_argument);
  EXPECT_EQ(answer.end->error->message, "the output cannot be resumed: token 125 does not fit the grammar");
}

TEST(ModelRunner, EndTokensWaitForMinTokens) {
  ModelBench model("llama", {.num_blocks = kBlocks});
  wire::GenerateRequest request;
  request.prompt = {1, 5, 9};
  request.max_tokens = 12;
  request.sampling.temperature = 0;
  request.sampling.logit_bias = {{2, 100.0f}};
  EXPECT_EQ(model.run({request})[0].tokens.size(), 0u);
  request.min_tokens = 5;
  EXPECT_EQ(model.run({request})[0].tokens.size(), 5u);
}

TEST(ModelRunner, BadLogitsEndTheirOwnRequest) {
  ModelBench model("llama", {.num_blocks = kBlocks});
  wire::GenerateRequest good;
  good.prompt = {1, 5, 9};
  good.max_tokens = 8;
  good.ignore_eos = true;
  wire::GenerateRequest bad = good;
  bad.sampling.logit_bias = {{3, NAN}};
  const Answer& good_answer = model.bench->submit(good);
  const Answer& bad_answer = model.bench->submit(bad);
  model.bench->finish();
  EXPECT_EQ(good_answer.tokens.size(), 8u);
  ASSERT_TRUE(bad_answer.end->error);
  EXPECT_EQ(bad_answer.end->error->code, base::ErrorCode::internal);
}

}  // namespace
}  // namespace kvasir::engine
