// gpu_bench [--in=512] [--out=256] [--fp8] [--int4] [--fp8-kv] [--own=64] [--burst=STEP_MS] [SHAPE
// [BATCH...]]: the engine on the first GPU, with random weights in the shape of a real model (those of
// `kvasir bench engine`, and qwen3-30b-a3b). Measures the prefill of a batch of prompts, then their decode.
// "all" is the rate of output tokens over the whole time, from the first prompt to the last token. With
// --burst=STEP_MS, BATCH requests arrive at once and are scheduled as in a server; the table shows which
// kinds of steps take the time.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/heap.h"
#include "bench/model_shape.h"
#include "bench/random.h"
#include "bench/statistics.h"
#include "engine/device_runner.h"
#include "engine/engine.h"
#include "model/decoder/device_decoder.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::bench {
namespace {

constexpr int kChunk = 8192;
constexpr int kWarmSteps = 4;
constexpr int kMaxSequences = 512;

struct Load {
  int prompt = 512;
  int answer = 256;
  int vocab_size = 0;
  int num_blocks = 0;
  double burst_step_s = 0;  // 0: no burst
};

struct Figures {
  double prefill_tokens_per_s = 0;
  double tokens_per_s = 0;
  double all_tokens_per_s = 0;
  int num_steps = 0;
  double step_ms = 0;
  double host_us = 0;  // per step: work of the engine thread besides waiting, overlapped or not
};

// An engine that gets `batch` prompts at once.
class Measurement {
 public:
  Measurement(engine::DeviceRunner& runner, const Load& load, int batch, int max_tokens)
      : runner_(runner),
        load_(load),
        batch_(batch),
        engine_({.scheduler = {.num_blocks = load.num_blocks,
                               .max_batch_tokens = kChunk,
                               .max_batch_sequences = std::min(batch, kMaxSequences),
                               .target_step_s = load.burst_step_s,
                               .prefill_share = 0.55,  // the server's value for a GPU
                               .min_batch_decodes = kMaxSequences,
                               .prefix_cache = false},
                 .vocab_size = load.vocab_size,
                 .max_queue = batch + 1,
                 .max_backlog_tokens = 1 << 20},
                runner, clock_) {
    for (int i = 0; i < batch; ++i) submit(max_tokens);
  }

  // Runs until every prompt has its first token.
  double prefill_tokens_per_s() {
    const base::TimePoint start = clock_.now();
    while (!engine_.idle()) {
      engine_.step();
      read_events();
    }
    return batch_ * load_.prompt / base::seconds(clock_.now() - start);
  }

  // Measures the steps in which all sequences decode.
  void decode(Figures& figures) {
    std::vector<double> steps_s;
    std::vector<double> hosts_s;
    double total_s = 0;
    int num_warm = kWarmSteps;
    const base::TimePoint start = clock_.now();
    while (!engine_.idle()) {
      const sched::SchedulerStats before = engine_.stats().sequences;
      const double waited_before_s = runner_.waited_seconds();
      const base::TimePoint begin = clock_.now();
      engine_.step();
      const double engine_s = base::seconds(clock_.now() - begin);
      read_events();
      const double step_s = base::seconds(clock_.now() - begin);
      const sched::SchedulerStats after = engine_.stats().sequences;
      const bool all = after.num_decode_tokens - before.num_decode_tokens == batch_ &&
                       after.num_prefill_tokens == before.num_prefill_tokens;
      if (!all || num_warm-- > 0) continue;
      steps_s.push_back(step_s);
      hosts_s.push_back(engine_s - (runner_.waited_seconds() - waited_before_s));
      total_s += step_s;
    }
    // The last full step overlaps with the start of the first smaller one, whose graph is recorded then. So
    // the last full step is not counted.
    if (steps_s.size() > 1) {
      total_s -= steps_s.back();
      steps_s.pop_back();
      hosts_s.pop_back();
    }
    figures.all_tokens_per_s = batch_ * load_.answer / base::seconds(clock_.now() - start);
    figures.tokens_per_s = batch_ * static_cast<double>(steps_s.size()) / total_s;
    figures.num_steps = static_cast<int>(steps_s.size());
    figures.step_ms = 1e3 * median(steps_s);
    figures.host_us = 1e6 * median(hosts_s);
  }

  // Runs the whole burst and reports it by kinds of steps.
  void run_burst() {
    struct Kind {
      int num_steps = 0;
      double seconds = 0;
      std::int64_t prefill = 0;
      std::int64_t decode = 0;
    };
    std::map<std::pair<bool, std::int64_t>, Kind> kinds;
    const base::TimePoint start = clock_.now();
    while (!engine_.idle()) {
      const sched::SchedulerStats before = engine_.stats().sequences;
      const base::TimePoint begin = clock_.now();
      engine_.step();
      read_events();
      const sched::SchedulerStats after = engine_.stats().sequences;
      const auto prefill = static_cast<std::int64_t>(after.num_prefill_tokens - before.num_prefill_tokens);
      const auto decode = static_cast<std::int64_t>(after.num_decode_tokens - before.num_decode_tokens);
      Kind& kind = kinds[{prefill > 0, (decode + 63) / 64 * 64}];
      ++kind.num_steps;
      kind.seconds += base::seconds(clock_.now() - begin);
      kind.prefill += prefill;
      kind.decode += decode;
    }
    const double all_s = base::seconds(clock_.now() - start);
    fmt::print("{} requests in {:.1f} s: {:.0f} tokens/s; {} preempted\n", batch_, all_s,
               batch_ * load_.answer / all_s, engine_.stats().sequences.num_preemptions);
    fmt::print("{:>8} {:>8} {:>6} {:>9} {:>9} {:>9} {:>9}\n", "prefill", "decodes", "steps", "seconds",
               "step ms", "prefilled", "decoded");
    for (const auto& [key, kind] : kinds)
      fmt::print("{:>8} {:>8} {:>6} {:>9.2f} {:>9.2f} {:>9} {:>9}\n", key.first ? "yes" : "no", key.second,
                 kind.num_steps, kind.seconds, 1e3 * kind.seconds / kind.num_steps, kind.prefill,
                 kind.decode);
  }

 private:
  // Reads events, as the threads of a server do.
  void read_events() {
    io_.restart();
    io_.poll();
    for (const auto& stream : streams_) (void)stream->take();
  }

  void submit(int max_tokens) {
    wire::GenerateRequest request;
    request.origin.request_id = "bench";
    const auto vocab_size = static_cast<std::uint64_t>(load_.vocab_size);
    for (int i = 0; i < load_.prompt; ++i)
      request.prompt.push_back(static_cast<TokenId>(random_.below(vocab_size)));
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    request.ignore_eos = true;
    streams_.push_back(std::make_shared<seam::TokenStream>(io_.get_executor()));
    engine_.submit(std::move(request), streams_.back());
  }

  engine::DeviceRunner& runner_;
  const Load load_;
  const int batch_;
  const base::RealClock clock_;
  boost::asio::io_context io_;
  std::vector<std::shared_ptr<seam::TokenStream>> streams_;
  Random random_{1};
  engine::Engine engine_;
};

// A model with a mixture of experts in every layer.
model::ModelConfig qwen3_30b_a3b() {
  model::ModelConfig config;
  config.architecture = "qwen3_moe";
  config.vocab_size = 151936;
  config.hidden_size = 2048;
  config.intermediate_size = 6144;
  config.num_layers = 48;
  config.num_heads = 32;
  config.num_kv_heads = 4;
  config.head_dim = 128;
  config.context_length = 40960;
  config.norm_eps = 1e-6f;
  config.qk_norm = model::QkNorm::heads;
  config.mixture = {.num_experts = 128, .num_used = 8, .intermediate_size = 768};
  config.rope.theta = 1e6;
  config.rope.dim = 128;
  config.layers.assign(48, {.sparse = true});
  return config;
}

base::Result<model::ModelConfig> config_of(const std::string& name) {
  if (name == "qwen3-30b-a3b") return qwen3_30b_a3b();
  TRY(const ModelShape* shape, find_shape(name));
  model::ModelConfig config = shape->config;
  TRY_OK(model::make_layers(config));
  return config;
}

std::string_view name_of(model::WeightNumbers numbers) {
  if (numbers == model::WeightNumbers::fp8) return ", fp8 weights";
  return numbers == model::WeightNumbers::int4 ? ", int4 weights" : "";
}

base::Status measure_bursts(const std::string& name, const std::vector<int>& batches, Load load,
                            model::DeviceOptions options) {
  TRY(const model::ModelConfig config, config_of(name));
  load.vocab_size = config.vocab_size;
  options.max_rows = kChunk;
  options.max_sequences = kMaxSequences;
  ops::ComputePool pool(4);
  TRY(auto decoder, model::make_random_cuda_decoder(config, options));
  load.num_blocks = decoder->num_blocks();
  engine::DeviceRunner runner(std::move(decoder), pool);
  for (const int batch : batches) Measurement(runner, load, batch, load.answer).run_burst();
  return base::ok();
}

base::Status measure(const std::string& name, const std::vector<int>& batches, Load load,
                     model::DeviceOptions options) {
  TRY(const model::ModelConfig config, config_of(name));
  const int largest = *std::max_element(batches.begin(), batches.end());
  load.vocab_size = config.vocab_size;
  load.num_blocks = largest * ((load.prompt + load.answer) / 16 + 1) + 1;
  options.num_blocks = load.num_blocks;
  options.max_rows = kChunk;
  options.max_sequences = largest;
  ops::ComputePool pool(4);
  TRY(auto decoder, model::make_random_cuda_decoder(config, options));
  engine::DeviceRunner runner(std::move(decoder), pool);
  fmt::print("{} in, {} out{}{}\n{:<14} {:>6} {:>14} {:>14} {:>9} {:>6} {:>9} {:>9}\n", load.prompt,
             load.answer, name_of(options.weights), options.fp8_kv ? ", fp8 KV" : "", "shape", "batch",
             "prefill tok/s", "decode tok/s", "all tok/s", "steps", "step ms", "host µs");
  for (const int batch : batches) {
    Figures figures;
    for (int round = 0; round < 2; ++round)  // the first warms up
      figures.prefill_tokens_per_s = Measurement(runner, load, batch, 1).prefill_tokens_per_s();
    Measurement(runner, load, batch, load.answer).decode(figures);
    fmt::print("{:<14} {:>6} {:>14.0f} {:>14.1f} {:>9.1f} {:>6} {:>9.3f} {:>9.1f}\n", name, batch,
               figures.prefill_tokens_per_s, figures.tokens_per_s, figures.all_tokens_per_s,
               figures.num_steps, figures.step_ms, figures.host_us);
    std::fflush(stdout);
  }
  return base::ok();
}

}  // namespace
}  // namespace kvasir::bench

int main(int argc, char** argv) {
  kvasir::base::keep_freed_memory();
  kvasir::bench::Load load;
  kvasir::model::DeviceOptions options;
  for (; argc > 1 && std::string_view(argv[1]).starts_with("--"); --argc, ++argv) {
    const std::string_view flag = argv[1];
    const int value = std::atoi(argv[1] + std::min(flag.size(), flag.find('=') + 1));
    if (flag.starts_with("--in=")) load.prompt = std::max(1, value);
    if (flag.starts_with("--out=")) load.answer = std::max(1, value);
    if (flag.starts_with("--burst=")) load.burst_step_s = std::max(1, value) * 1e-3;
    if (flag.starts_with("--own=")) options.max_own_rows = value;
    if (flag == "--fp8") options.weights = kvasir::model::WeightNumbers::fp8;
    if (flag == "--int4") options.weights = kvasir::model::WeightNumbers::int4;
    if (flag == "--fp8-kv") options.fp8_kv = true;
  }
  const std::string shape = argc > 1 ? argv[1] : "llama-3.1-8b";
  std::vector<int> batches;
  const int most = load.burst_step_s > 0 ? 4096 : kvasir::bench::kMaxSequences;
  for (int i = 2; i < argc; ++i) batches.push_back(std::clamp(std::atoi(argv[i]), 1, most));
  if (batches.empty()) batches = {1, 32, 128, 256};
  const kvasir::base::Status measured = load.burst_step_s > 0
                                            ? kvasir::bench::measure_bursts(shape, batches, load, options)
                                            : kvasir::bench::measure(shape, batches, load, options);
  if (measured.ok()) return 0;
  fmt::print(stderr, "gpu_bench: {}\n", measured.error().message);
  return 1;
}
