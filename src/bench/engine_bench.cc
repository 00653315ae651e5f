#include "bench/engine_bench.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "bench/random.h"
#include "engine/engine.h"
#include "engine/model_runner.h"
#include "kv/block.h"
#include "model/checkpoint/checkpoint.h"
#include "model/decoder/kv_cache.h"

namespace kvasir::bench {

namespace asio = boost::asio;
using base::ErrorCode;

namespace {

constexpr int kWarmSteps = 2;
constexpr int kPrefillRounds = 3;
constexpr double kPrefillSeconds = 4;  // no new round begins after this time

// Wraps a ModelRunner. Measures the time of a step, and can skip the work of prompts: to measure decode steps
// after a long context, that context only has to be in memory, so its blocks are copies of one computed
// block.
class MeasuredRunner final : public engine::Runner {
 public:
  enum class Prompts { computed, copied };

  explicit MeasuredRunner(engine::ModelRunner& runner) : runner_(runner) {}

  void set_prompts(Prompts prompts) { prompts_ = prompts; }
  double run_s() const { return run_s_; }  // of the last step

  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override {
    const base::TimePoint start = clock_.now();
    base::Result<sched::StepResult> result =
        prompts_ == Prompts::copied && plan.load.prefill_tokens > 0 ? copy_prompts(plan) : runner_.run(plan);
    run_s_ = base::seconds(clock_.now() - start);
    if (!source_ && plan.load.prefill_tokens >= kv::kBlockTokens)
      source_ = plan.slices.front().blocks.front();
    return result;
  }

 private:
  base::Result<sched::StepResult> copy_prompts(const sched::StepPlan& plan) {
    sched::StepPlan copies;
    sched::StepResult result;
    for (const sched::StepPlan::Slice& slice : plan.slices) {
      for (const kv::BlockId block : slice.blocks)
        if (source_ && block != *source_) copies.copies.push_back({*source_, block});
      result.outcomes.emplace_back();
      if (slice.wants_token()) result.outcomes.back().token = wire::Token{slice.known.back()};
    }
    TRY_OK(runner_.run(copies));
    return result;
  }

  engine::ModelRunner& runner_;
  const base::RealClock clock_;
  Prompts prompts_ = Prompts::computed;
  std::optional<kv::BlockId> source_;
  double run_s_ = 0;
};

// Reads streams on its own thread, as a gateway's I/O thread does.
class Readers {
 public:
  Readers() : guard_(asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {}
  // Abandons streams that have not ended.
  ~Readers() {
    io_.stop();
    thread_.join();
  }

  std::shared_ptr<seam::TokenStream> add() {
    auto stream = std::make_shared<seam::TokenStream>(io_.get_executor());
    asio::co_spawn(io_, read(stream), asio::detached);
    return stream;
  }

 private:
  static asio::awaitable<void> read(std::shared_ptr<seam::TokenStream> stream) {
    for (bool ended = false; !ended;) {
      const std::optional<wire::TokenEvent> event = co_await stream->next(std::chrono::hours(1));
      ended = event && event->last();
    }
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::thread thread_;
};

// The model, its KV, its runner and its readers. Engines are stepped on the calling thread.
class Bench {
 public:
  Bench(model::LoadedModel model, model::KvCache kv, const EngineBenchOptions& options, const ModelLoad& load)
      : options_(options),
        load_(load),
        vocab_size_(model.config().vocab_size),
        num_blocks_(kv.num_blocks()),
        model_runner_(std::move(model.decoder), std::move(kv)),
        runner_(model_runner_),
        random_(options.seed) {}

  base::Result<PrefillFigures> prefill(int num_tokens) {
    runner_.set_prompts(MeasuredRunner::Prompts::computed);
    std::vector<double> times_s;
    double total_s = 0;
    for (int round = 0; round < kPrefillRounds && (round == 0 || total_s < kPrefillSeconds); ++round) {
      engine::Engine engine(engine_options(options_.max_batch_tokens), runner_, clock_);
      engine.submit(request(num_tokens, 1), readers_.add());
      const base::TimePoint start = clock_.now();
      while (!engine.idle()) TRY_OK(step(engine));
      times_s.push_back(base::seconds(clock_.now() - start));
      total_s += times_s.back();
    }
    PrefillFigures figures{.num_tokens = num_tokens, .seconds = median(times_s)};
    figures.tokens_per_s = num_tokens / figures.seconds;
    const double context = 0.5 * num_tokens;  // a row of a prompt attends to half of it on average
    figures.ops_per_s =
        (num_tokens * (load_.ops_per_token + context * load_.attention_ops_per_token) + load_.head_ops) /
        figures.seconds;
    return figures;
  }

  base::Result<DecodeFigures> decode(int batch) {
    // All prompts run in one step, so that the sequences begin to decode together.
    engine::Engine engine(engine_options(batch * (options_.depth + 1)), runner_, clock_);
    runner_.set_prompts(MeasuredRunner::Prompts::copied);
    const int num_steps = options_.gen + kWarmSteps;
    for (int i = 0; i < batch; ++i) engine.submit(request(options_.depth, num_steps + 1), readers_.add());
    while (engine.stats().sequences.num_output_tokens < batch) TRY_OK(step(engine));
    runner_.set_prompts(MeasuredRunner::Prompts::computed);
    for (int i = 0; i < kWarmSteps; ++i) TRY_OK(step(engine));
    std::vector<double> steps_s, kernels_s, samplings_s, rests_s;
    for (int i = 0; i < options_.gen; ++i) {
      const double kernels_before_s = model_runner_.compute_seconds();
      const base::TimePoint start = clock_.now();
      TRY_OK(step(engine));
      const double step_s = base::seconds(clock_.now() - start);
      const double kernel_s = model_runner_.compute_seconds() - kernels_before_s;
      steps_s.push_back(step_s);
      kernels_s.push_back(kernel_s);
      samplings_s.push_back(runner_.run_s() - kernel_s);
      rests_s.push_back(step_s - runner_.run_s());
    }
    engine.fail_all(base::error(ErrorCode::cancelled, "measured"));
    return figures_of(batch, steps_s, kernels_s, samplings_s, rests_s);
  }

 private:
  // Runs a step in which every sequence must advance.
  static base::Status step(engine::Engine& engine) {
    if (!engine.step()) return base::error(ErrorCode::internal, "the engine found nothing to run");
    if (engine.stats().sequences.num_failed > 0)
      return base::error(ErrorCode::internal, "a sequence failed: the model's logits are no numbers");
    return base::ok();
  }

  engine::EngineOptions engine_options(int max_batch_tokens) const {
    engine::EngineOptions options;
    options.scheduler = {.num_blocks = num_blocks_,
                         .max_batch_tokens = max_batch_tokens,
                         .max_batch_sequences = 1 << 16,
                         .target_step_s = 0,
                         .prefix_cache = false};
    options.vocab_size = vocab_size_;
    options.max_backlog_tokens = 1 << 20;
    return options;
  }

  wire::GenerateRequest request(int num_tokens, int max_tokens) {
    wire::GenerateRequest request;
    request.origin.request_id = "bench";
    for (int i = 0; i < num_tokens; ++i)
      request.prompt.push_back(static_cast<TokenId>(random_.below(static_cast<std::uint64_t>(vocab_size_))));
    request.sampling.temperature = options_.temperature;
    request.sampling.seed = random_.bits();
    request.max_tokens = max_tokens;
    request.ignore_eos = true;
    return request;
  }

  DecodeFigures figures_of(int batch, std::vector<double>& steps_s, std::vector<double>& kernels_s,
                           std::vector<double>& samplings_s, std::vector<double>& rests_s) const {
    DecodeFigures figures{.batch = batch, .depth = options_.depth};
    double total_s = 0;
    for (const double step_s : steps_s) total_s += step_s;
    figures.tokens_per_s = batch * static_cast<double>(steps_s.size()) / total_s;
    figures.worst_step_s = *std::max_element(steps_s.begin(), steps_s.end());
    figures.step_s = median(steps_s);
    figures.kernel_s = median(kernels_s);
    figures.sampling_s = median(samplings_s);
    figures.rest_s = median(rests_s);
    const double context = options_.depth + 0.5 * options_.gen + kWarmSteps;
    figures.bytes_per_s =
        (load_.bytes_of_step(batch) + batch * context * load_.kv_bytes_per_token) / figures.kernel_s;
    figures.ops_per_s = batch *
                        (load_.ops_per_token + load_.head_ops + context * load_.attention_ops_per_token) /
                        figures.kernel_s;
    return figures;
  }

  const EngineBenchOptions& options_;
  const ModelLoad& load_;
  const int vocab_size_;
  const int num_blocks_;
  const base::RealClock clock_;
  Readers readers_;
  engine::ModelRunner model_runner_;
  MeasuredRunner runner_;
  Random random_;
};

// Whether `part` is the tensor `name`, with or without the family's prefix.
bool plays(std::string_view part, std::string_view name, const model::TensorNames& names) {
  if (name.starts_with(names.optional_prefix) && name.substr(names.optional_prefix.size()) == part)
    return true;
  return name == part;
}

int largest(const std::vector<int>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

double ModelLoad::bytes_of_step(int num_rows) const {
  return weight_bytes + expert_bytes * (1 - std::pow(1 - expert_share, num_rows));
}

base::Result<ModelLoad> measure_load(const std::string& path, ops::KvType kv_type) {
  TRY(const model::Checkpoint checkpoint, model::open_checkpoint(path));
  const model::ModelConfig& config = checkpoint.config;
  ModelLoad load;
  if (config.mixture.num_experts > 0)
    load.expert_share = static_cast<double>(config.mixture.num_used) / config.mixture.num_experts;
  for (const std::string_view name : checkpoint.weights->names()) {
    TRY(const tensor::TensorView view, checkpoint.weights->find(name));
    const bool is_embedding = plays(checkpoint.names.embedding, name, checkpoint.names);
    const bool is_head = is_embedding || plays(checkpoint.names.output, name, checkpoint.names);
    if (is_embedding && !config.tied_embeddings) continue;
    const bool is_expert =
        name.find("_exps.") != std::string_view::npos || name.find(".experts.") != std::string_view::npos;
    (is_expert ? load.expert_bytes : load.weight_bytes) += static_cast<double>(view.bytes());
    if (view.shape.size() < 2) continue;
    double num_ops = 2;
    for (const std::int64_t dim : view.shape) num_ops *= static_cast<double>(dim);
    (is_head ? load.head_ops : load.ops_per_token) += is_expert ? num_ops * load.expert_share : num_ops;
  }
  load.kv_bytes_per_token =
      static_cast<double>(model::KvCache::bytes_per_block(config, kv_type)) / kv::kBlockTokens;
  load.attention_ops_per_token = 4.0 * config.num_layers * config.q_size();
  return load;
}

base::Result<EngineFigures> bench_engine(model::LoadedModel model, const ModelLoad& load,
                                         const EngineBenchOptions& options,
                                         const std::function<void(std::string_view)>& on_progress) {
  const int longest = std::max(largest(options.prompts) + 1, options.depth + options.gen + kWarmSteps + 1);
  if (longest > model.config().context_length)
    return base::error(ErrorCode::invalid_argument, "{} tokens are over the model's context of {}", longest,
                       model.config().context_length);
  const int num_blocks =
      kv::blocks_for(largest(options.prompts) + 1) + 2 +
      largest(options.batches) * (kv::blocks_for(options.depth + options.gen + kWarmSteps + 1) + 1);
  TRY(model::KvCache kv, model::KvCache::create(model.config(), options.kv_type, num_blocks));
  EngineFigures figures;
  Bench bench(std::move(model), std::move(kv), options, load);
  on_progress("warming up");
  TRY_OK(bench.prefill(2 * kv::kBlockTokens));
  for (const int prompt : options.prompts) {
    on_progress(fmt::format("prefill of {}", prompt));
    TRY(figures.prefills.emplace_back(), bench.prefill(prompt));
  }
  for (const int batch : options.batches) {
    on_progress(fmt::format("decode of {} sequence{}", batch, batch == 1 ? "" : "s"));
    TRY(figures.decodes.emplace_back(), bench.decode(batch));
  }
  return figures;
}

}  // namespace kvasir::bench
