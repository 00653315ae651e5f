// gpu_bench [--in=512] [--out=256] [--fp8] [--int4] [--fp8-kv] [--own=64] [--burst=STEP_MS] [--draws]
// [--clients] [--kinds=N] [--products=FILE] [SHAPE [BATCH...]]: the engine on the first GPU, with random
// weights in the shape of a real model (those of `kvasir bench engine`, and qwen3-30b-a3b). Measures the
// prefill of a batch of prompts, then their decode. "all" is the rate of output tokens over the whole time,
// from the first prompt to the last token. With
// --burst=STEP_MS, BATCH requests arrive at once and are scheduled as in a server; the table shows which
// kinds of steps take the time. With --draws, each kind of drawing is measured, as a share of greedy's
// decode. With --clients too, BATCH clients send requests of drawn lengths (lognormal, medians --in and
// --out), two each. With --products, products are measured before the first step, and kept in that file.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cmath>
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
#include "gpu_draws.h"
#include "model/decoder/device_decoder.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::bench {
namespace {

constexpr int kChunk = 8192;
constexpr int kWarmSteps = 4;
constexpr int kMaxSequences = 512;
constexpr int kEach = 2;  // requests of a client

struct Load {
  int prompt = 512;
  int answer = 256;
  int vocab_size = 0;
  int num_blocks = 0;
  double burst_step_s = 0;  // 0: no burst
  bool all_draws = false;
  bool drawn_lengths = false;
  int num_kinds = 100;  // of drawing, at most
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
  Measurement(engine::DeviceRunner& runner, const Load& load, int batch, int max_tokens,
              const DrawKind* kind = nullptr)
      : kind_(kind),
        runner_(runner),
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
    for (int i = 0; i < batch && max_tokens > 0; ++i) submit(load_.prompt, max_tokens);
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

  // Each client sends its next request when its last is answered, `num_each` of them; lengths are drawn.
  // Called on a measurement of no batch. Tokens a second while all clients have work.
  double tokens_per_s_of_clients(int num_clients, int num_each) {
    const auto drawn = [this](int median) {
      return static_cast<int>(std::clamp(median * std::exp(0.8 * random_.normal()), 4.0, 8.0 * median));
    };
    const auto next = [&] { submit(drawn(load_.prompt), drawn(load_.answer)); };
    for (int i = 0; i < num_clients; ++i) next();
    int num_left = num_clients * (num_each - 1);
    std::int64_t num_before = 0;
    const base::TimePoint start = clock_.now();
    while (num_left > 0) {
      engine_.step();
      for (int ended = read_events(); ended > 0 && num_left > 0; --ended, --num_left) next();
      num_before = engine_.stats().sequences.num_output_tokens;
    }
    const double busy_s = base::seconds(clock_.now() - start);
    while (!engine_.idle()) {
      engine_.step();
      read_events();
    }
    return static_cast<double>(num_before) / busy_s;
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
  // Reads events, as the threads of a server do. Gives the number of answers that ended.
  int read_events() {
    io_.restart();
    io_.poll();
    const auto has_ended = [](const auto& stream) {
      const auto event = stream->take();
      if (event && event->error) fmt::print(stderr, "gpu_bench: {}\n", event->error->message);
      return event && event->last();
    };
    return static_cast<int>(std::erase_if(streams_, has_ended));
  }

  void submit(int prompt, int max_tokens) {
    wire::GenerateRequest request;
    request.origin.request_id = "bench";
    const auto vocab_size = static_cast<std::uint64_t>(load_.vocab_size);
    for (int i = 0; i < prompt; ++i)
      request.prompt.push_back(static_cast<TokenId>(random_.below(vocab_size)));
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    request.ignore_eos = true;
    if (kind_ != nullptr) kind_->ask(request, num_submitted_++);
    streams_.push_back(std::make_shared<seam::TokenStream>(io_.get_executor()));
    engine_.submit(std::move(request), streams_.back());
  }

  const DrawKind* kind_;  // null: greedy
  int num_submitted_ = 0;
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

// Every kind of drawing: the decode of equal streams, or of clients with drawn lengths.
base::Status measure_draws(const std::string& name, const std::vector<int>& batches, Load load,
                           model::DeviceOptions options) {
  TRY(const model::ModelConfig config, config_of(name));
  const int largest = *std::max_element(batches.begin(), batches.end());
  load.vocab_size = config.vocab_size;
  const int tokens = load.drawn_lengths ? 4 * (load.prompt + load.answer) : load.prompt + load.answer;
  load.num_blocks = largest * (tokens / 16 + 1) + 1;
  options.num_blocks = load.num_blocks;
  options.max_rows = kChunk;
  options.max_sequences = largest;
  ops::ComputePool pool(8);
  const base::RealClock clock;
  const base::TimePoint start = clock.now();
  TRY(auto decoder, model::make_random_cuda_decoder(config, options));
  fmt::print("ready after {:.1f} s\n", base::seconds(clock.now() - start));
  engine::DeviceRunner runner(std::move(decoder), pool);
  std::vector<DrawKind> kinds = draw_kinds(config.vocab_size);
  kinds.resize(std::min(kinds.size(), static_cast<std::size_t>(load.num_kinds)));
  kinds.push_back(kinds.front());  // greedy again
  fmt::print("{} in, {} out{}\n{:<28} {:>6} {:>10} {:>9} {:>9}\n", load.prompt, load.answer,
             load.drawn_lengths ? " (medians)" : "", "drawing", "batch", "tokens/s", "of greedy", "host µs");
  for (const int batch : batches) {
    double greedy = 0;
    const auto measure_one = [&](const DrawKind& kind) {
      Figures figures;
      if (load.drawn_lengths)
        figures.tokens_per_s =
            Measurement(runner, load, batch, 0, &kind).tokens_per_s_of_clients(batch, kEach);
      else
        Measurement(runner, load, batch, load.answer, &kind).decode(figures);
      return figures;
    };
    const double first = measure_one(kinds.front()).tokens_per_s;  // the first load since the start
    fmt::print("{:<28} {:>6} {:>10.0f}\n", "greedy, the first load", batch, first);
    for (const DrawKind& kind : kinds) {
      const Figures figures = measure_one(kind);
      if (greedy == 0) greedy = figures.tokens_per_s;
      fmt::print("{:<28} {:>6} {:>10.0f} {:>9.3f} {:>9.1f}\n", kind.name, batch, figures.tokens_per_s,
                 figures.tokens_per_s / greedy, figures.host_us);
      std::fflush(stdout);
    }
  }
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
    if (flag.starts_with("--products=")) {
      options.products_file = std::string(flag.substr(flag.find('=') + 1));
      options.tunes_ahead = true;
    }
    if (flag == "--draws") load.all_draws = true;
    if (flag.starts_with("--kinds=")) load.num_kinds = std::max(1, value);
    if (flag == "--clients") load.drawn_lengths = true;
    if (flag == "--fp8") options.weights = kvasir::model::WeightNumbers::fp8;
    if (flag == "--int4") options.weights = kvasir::model::WeightNumbers::int4;
    if (flag == "--fp8-kv") options.fp8_kv = true;
  }
  const std::string shape = argc > 1 ? argv[1] : "llama-3.1-8b";
  std::vector<int> batches;
  const int most = load.burst_step_s > 0 ? 4096 : kvasir::bench::kMaxSequences;
  for (int i = 2; i < argc; ++i) batches.push_back(std::clamp(std::atoi(argv[i]), 1, most));
  if (batches.empty()) batches = {1, 32, 128, 256};
  using namespace kvasir::bench;
  const auto run = load.all_draws ? measure_draws : load.burst_step_s > 0 ? measure_bursts : measure;
  const kvasir::base::Status measured = run(shape, batches, load, options);
  if (measured.ok()) return 0;
  fmt::print(stderr, "gpu_bench: {}\n", measured.error().message);
  return 1;
}
