// How fast a model loads, prefills and decodes here: decoder_bench MODEL [threads] [batch] [prompt].
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "model/decoder.h"

namespace {

using namespace kvasir;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int argument(int argc, char** argv, int index, int fallback) {
  return argc > index ? std::atoi(argv[index]) : fallback;
}

// `batch` sequences of the same made-up tokens, each in blocks of its own.
struct Sequences {
  Sequences(int count, int max_tokens) : blocks(static_cast<std::size_t>(count)) {
    const int per_sequence = (max_tokens + ops::kBlockTokens - 1) / ops::kBlockTokens;
    int next = 0;
    for (auto& list : blocks) {
      list.resize(static_cast<std::size_t>(per_sequence));
      std::iota(list.begin(), list.end(), next);
      next += per_sequence;
    }
    num_blocks = next;
  }

  model::StepBatch batch(int num_computed, int rows) const {
    model::StepBatch step;
    for (const auto& list : blocks) {
      const int first = static_cast<int>(step.tokens.size());
      step.slices.push_back({first, rows, num_computed, list});
      for (int i = 0; i < rows; ++i) step.tokens.push_back(1000 + (num_computed + i) * 37 % 5000);
      step.logit_rows.push_back(first + rows - 1);
    }
    return step;
  }

  std::vector<std::vector<std::int32_t>> blocks;
  int num_blocks = 0;
};

int run(int argc, char** argv) {
  const int num_threads = argument(argc, argv, 2, 2);
  const int num_sequences = argument(argc, argv, 3, 1);
  const int prompt = argument(argc, argv, 4, 512);
  constexpr int kNumDecodes = 64;

  ops::ComputePool pool(num_threads);
  auto start = Clock::now();
  auto checkpoint = model::open_checkpoint(argv[1]);
  if (!checkpoint.ok()) {
    fmt::print(stderr, "{}\n", checkpoint.error().message);
    return 1;
  }
  const double open_s = seconds_since(start);
  auto decoder = model::Decoder::load(std::move(*checkpoint), {}, pool);
  if (!decoder.ok()) {
    fmt::print(stderr, "{}\n", decoder.error().message);
    return 1;
  }
  fmt::print("open {:.3f} s, load {:.3f} s\n", open_s, seconds_since(start));

  const Sequences sequences(num_sequences, prompt + kNumDecodes);
  auto kv = model::KvCache::create((*decoder)->config(), tensor::DType::f16, sequences.num_blocks).value();
  std::vector<float> logits(static_cast<std::size_t>(num_sequences) *
                            static_cast<std::size_t>((*decoder)->config().vocab_size));
  start = Clock::now();
  (*decoder)->forward(sequences.batch(0, prompt), kv, logits);
  const double prefill_s = seconds_since(start);
  fmt::print("prefill {} x {}: {:.3f} s, {:.1f} tokens/s\n", num_sequences, prompt, prefill_s,
             num_sequences * prompt / prefill_s);

  start = Clock::now();
  for (int i = 0; i < kNumDecodes; ++i) (*decoder)->forward(sequences.batch(prompt + i, 1), kv, logits);
  const double decode_s = seconds_since(start);
  fmt::print("decode {} x {}: {:.1f} ms a step, {:.1f} tokens/s\n", num_sequences, kNumDecodes,
             1000 * decode_s / kNumDecodes, num_sequences * kNumDecodes / decode_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: decoder_bench MODEL [threads] [sequences] [prompt]\n");
    return 2;
  }
  return run(argc, argv);
}
