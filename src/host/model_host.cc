#include "host/model_host.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "engine/calibration.h"
#include "engine/failing_runner.h"
#include "host/context.h"
#include "host/fingerprint.h"
#include "host/loaded_decoder.h"
#include "host/worker_metrics.h"
#include "hub/open.h"
#include "kv/block.h"
#include "model/arch/parameter_count.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/checkpoint_facts.h"
#include "model/decoder/device_decoder.h"
#include "model/loaded_encoder.h"
#include "model/loaded_model.h"
#include "obs/log.h"
#include "router/model_grammars.h"
#include "sched/reachable_slo.h"

namespace kvasir::host {

using base::ErrorCode;
using base::Result;
using router::ModelState;
using router::Phase;

namespace {

// Length of a step that runs beside streams while no prompt is urgent.
constexpr double kShortStepS = 0.15;
constexpr double kShortGpuStepS = 0.013;

engine::EngineOptions engine_options(const std::vector<TokenId>& end_tokens, int vocab_size,
                                     const config::Settings& settings, int num_blocks) {
  const bool on_gpu = settings.device == "cuda";
  engine::EngineOptions options;
  options.scheduler = {.num_blocks = num_blocks,
                       .max_batch_tokens = settings.max_batch_tokens,
                       .max_batch_sequences = settings.max_batch_sequences,
                       .target_step_s = settings.target_step_ms / 1000,
                       // A GPU becomes more efficient with every further stream, so prompts get a larger
                       // share there and reach their first token sooner.
                       .prefill_share = on_gpu ? 0.55 : 0.33,
                       .min_batch_decodes = on_gpu ? settings.max_batch_sequences : 256,
                       .prefix_cache = settings.prefix_cache};
  options.vocab_size = vocab_size;
  options.end_tokens = end_tokens;
  options.max_queue = settings.max_queue;
  options.max_backlog_tokens = settings.stream_buffer_tokens;
  return options;
}

// Returns the facts that are known before the architecture is read.
Result<wire::ModelFacts> facts_of(const hub::Model& model, const std::filesystem::path& path) {
  TRY(model::CheckpointFacts stored, model::read_facts(path));
  wire::ModelFacts facts{.format = std::move(stored.format),
                         .quantization = std::move(stored.quantization),
                         .num_parameters = stored.num_parameters,
                         .num_bytes = model.size};
  if (model.entry == nullptr) return facts;
  facts.licence = model.entry->licence;
  facts.digest = model.entry->files.front().sha256;
  return facts;
}

}  // namespace

// Reports and displays the progress of a download.
class ModelHost::PullProgress final : public hub::ProgressSink {
 public:
  explicit PullProgress(ModelHost& host) : host_(host) {}

  void bytes(std::string_view model, std::uint64_t done, std::uint64_t total) override {
    const double part = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
    host_.reports_.tell_state(
        host_.model_.name,
        {.phase = Phase::downloading, .progress = part, .done_bytes = done, .total_bytes = total});
    host_.around_.progress.bytes(model, done, total);
  }
  void note(std::string_view model, std::string_view sentence) override {
    host_.around_.progress.note(model, sentence);
  }

 private:
  ModelHost& host_;
};

std::int64_t estimate_memory(const hub::Model& model, const config::Settings& settings) {
  const auto weights = static_cast<std::int64_t>(model.size);
  if (is_here(model))
    if (const Result<bool> encodes = model::holds_encoder(model.path); encodes.ok() && *encodes)
      return weights;
  return weights + (std::int64_t{settings.kv_memory_mb} << 20);
}

ModelHost::ModelHost(hub::Model model, router::HostReports& reports, HostSurroundings surroundings)
    : model_(std::move(model)), reports_(reports), around_(std::move(surroundings)) {}

void ModelHost::fetch() {
  thread_ = std::jthread([this](const std::stop_token& stop) { or_failed([&] { run_fetch(stop); }); });
}

void ModelHost::load() {
  if (thread_.joinable()) thread_.join();  // the old thread has just reported that the files are complete
  thread_ = std::jthread([this](const std::stop_token& stop) { or_failed([&] { run_load(stop); }); });
}

// An exception (usually out of memory) is a failure of this model only.
void ModelHost::or_failed(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    reports_.tell_failed(model_.name, {.code = ErrorCode::exhausted,
                                       .message = "there is not enough memory to load it",
                                       .reason = "model_failed"});
  } catch (const std::exception& e) {
    reports_.tell_failed(model_.name, {.code = ErrorCode::internal,
                                       .message = fmt::format("loading it failed: {}", e.what()),
                                       .reason = "model_failed"});
  }
}

ModelHost::~ModelHost() {
  stop();
  if (around_.gpu_plan != nullptr && !joined_gpu_plan_) around_.gpu_plan->count_out();
}

void ModelHost::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  if (worker_) worker_->stop();
  if (embedder_) embedder_->stop();
}

void ModelHost::run_fetch(const std::stop_token& stop) {
  CHECK(model_.entry != nullptr, "{} is neither here nor in a catalogue", model_.name);
  if (!around_.settings.offline) reports_.tell_state(model_.name, {.phase = Phase::downloading});
  PullProgress progress(*this);
  const Result<std::filesystem::path> path =
      hub::pull(*model_.entry, hub::pull_options(around_.settings, stop), progress);
  if (stop.stop_requested()) return;
  if (!path.ok()) return reports_.tell_failed(model_.name, path.error());
  hub::Model here = model_;
  here.state = hub::ModelState::ready;
  reports_.tell_fetched(model_.name, estimate_memory(here, around_.settings));
}

namespace {

int context_length_of(const router::ServedModel& model) {
  return std::visit([](const auto& one) { return one.text.context_length; }, model);
}

}  // namespace

void ModelHost::count_load(std::string_view outcome, double seconds) {
  around_.registry
      .counter({"llm_model_loads_total", "Loads of a model into memory, by how they ended."},
               {{"model", model_.name}, {"outcome", std::string(outcome)}})
      .add();
  obs::Log::debug("model_loaded",
                  {{"model", model_.name}, {"outcome", std::string(outcome)}, {"seconds", seconds}});
}

void ModelHost::run_load(const std::stop_token& stop) {
  const base::TimePoint begun = around_.clock.now();
  Result<router::ServedModel> model = open(stop);
  if (around_.gpu_plan != nullptr && !std::exchange(joined_gpu_plan_, true)) around_.gpu_plan->count_out();
  if (stop.stop_requested()) return;
  count_load(model.ok() ? "ready" : "failed", base::seconds(around_.clock.now() - begun));
  if (!model.ok()) return reports_.tell_failed(model_.name, model.error());
  obs::Log::debug("model_ready", {{"model", model_.name}, {"context", context_length_of(*model)}});
  reports_.tell_ready(model_.name, std::move(*model), memory_, cut_);
}

Result<router::ServedModel> ModelHost::open(const std::stop_token& stop) {
  reports_.tell_state(model_.name, {.phase = Phase::loading});
  TRY(const bool encodes, model::holds_encoder(model_.path));
  return encodes ? load_encoder() : load_decoder(stop);
}

Result<router::ServedModel> ModelHost::load_decoder(const std::stop_token& stop) {
  const config::Settings& settings = around_.settings;
  TRY(wire::ModelFacts facts, facts_of(model_, model_.path));
  const auto reserve = [&](model::DeviceDecoder& decoder) { return reserve_kv(decoder, stop); };
  TRY(LoadedDecoder computed, settings.device == "cuda" ? load_on_cuda(model_.path, around_, reserve, stop)
                                                        : load_on_cpu(model_.path, around_, stop));
  auto& [speech, runner, config, num_blocks, footprint, peak, memory] = computed;
  memory_ = memory;
  if (memory_.weights == 0) memory_.weights = static_cast<std::int64_t>(model_.size);
  const Context context = context_of(config, settings, num_blocks);
  if (!context.cut.empty()) obs::Log::warn("context_cut", {{"model", model_.name}, {"reason", context.cut}});
  cut_ = context.cut;
  auto grammars = router::make_grammar_compiler(speech.tokenizer, speech.end_tokens);
  engine::EngineOptions options = engine_options(speech.end_tokens, config.vocab_size, settings, num_blocks);
  options.footprint = footprint;
  if (settings.target_step_ms == 0) {
    reports_.tell_state(model_.name, {.phase = Phase::measuring});
    TRY_OK(choose_slo(*runner, options.scheduler));
  }
  if (settings.fail_at_step > 0)
    runner = std::make_unique<engine::FailingRunner>(std::move(runner), settings.fail_at_step);
  auto worker = std::make_shared<engine::LocalWorker>(
      options, std::move(runner), around_.clock,
      [this](const base::Error& failure) { reports_.tell_engine_failed(model_.name, failure); });
  observations_ = observe_worker(around_.registry, {model_.name, settings.device, peak, worker});
  {
    const std::lock_guard lock(mutex_);
    worker_ = worker;
  }
  router::GeneratingModel model;
  model.text.tokenizer = std::move(speech.tokenizer);
  model.text.context_length = context.length;
  model.text.fingerprint = fingerprint_of(model_);
  model.text.chat_template = std::move(speech.chat_template);
  model.text.grammars = std::move(grammars);
  model.text.num_parameters = model::num_parameters(config);
  facts.architecture = config.architecture;
  if (facts.num_parameters == 0) facts.num_parameters = model.text.num_parameters;
  facts.embedding_length = config.hidden_size;
  facts.num_layers = config.num_layers;
  facts.num_heads = config.num_heads;
  facts.num_kv_heads = config.num_kv_heads;
  facts.on_gpu = settings.device == "cuda";
  model.text.facts = std::make_shared<const wire::ModelFacts>(std::move(facts));
  if (settings.model_sampling) {
    model.text.sampling = speech.sampling;
    if (model_.entry != nullptr) model.text.sampling.complete(model_.entry->sampling);
  }
  if (!settings.public_prompts.empty())
    model.text.public_prompts = std::make_shared<router::PublicPrompts>(settings.public_prompts);
  model.worker = std::move(worker);
  return router::ServedModel(std::move(model));
}

namespace {

// A model without its own entry gets the value for all models.
double wanted_ms(const std::map<std::string, double>& by_model, const std::string& name) {
  const auto own = by_model.find(name);
  const auto all = by_model.find("");
  return own != by_model.end() ? own->second : all != by_model.end() ? all->second : 0;
}

}  // namespace

base::Status ModelHost::choose_slo(engine::Runner& runner, sched::SchedulerOptions& options) const {
  TRY(options.cost, engine::calibrate({.num_blocks = options.num_blocks,
                                       .max_batch_tokens = options.max_batch_tokens,
                                       .max_batch_sequences = options.max_batch_sequences},
                                      runner, around_.clock));
  const sched::ReachableSlo reached =
      sched::reachable_slo(options.cost, options.max_batch_sequences,
                           {wanted_ms(around_.slo_ttft_ms, model_.name) / 1000,
                            wanted_ms(around_.slo_tpot_ms, model_.name) / 1000});
  options.slo = reached.slo;
  options.least_slo = reached.least;
  options.short_step_s = around_.settings.device == "cuda" ? kShortGpuStepS : kShortStepS;
  obs::Log::info("slo", {{"model", model_.name},
                         {"ttft_ms", std::round(reached.slo.ttft_s * 1e3)},
                         {"tpot_ms", std::round(reached.slo.tpot_s * 1e3)},
                         {"reason", reached.reason.empty() ? "as set, or wanted" : reached.reason}});
  return base::ok();
}

base::Status ModelHost::reserve_kv(model::DeviceDecoder& decoder, const std::stop_token& stop) {
  const auto share = around_.gpu_shares.find(model_.name);
  const int context = wanted_context(decoder.config(), around_.settings);
  const KvDemand demand{.model = model_.name,
                        .bytes_per_block = decoder.kv_block_bytes(),
                        .context_blocks = std::max(2, kv::blocks_for(context)),
                        .share = share == around_.gpu_shares.end() ? 1 : share->second};
  joined_gpu_plan_ = true;
  TRY(const int num_blocks, around_.gpu_plan->join(demand, stop));
  return decoder.reserve_kv(num_blocks);
}

Result<router::ServedModel> ModelHost::load_encoder() {
  TRY(model::LoadedEncoder loaded, model::open_encoder(model_.path, {}, around_.pool));
  memory_ = {.weights = static_cast<std::int64_t>(model_.size)};
  const model::EncoderConfig& config = loaded.encoder->config();
  const engine::EmbedOptions options{.dimensions = config.hidden_size,
                                     .max_waiting = static_cast<std::size_t>(around_.settings.max_queue)};
  const int context_length = config.context_length;
  const int dimensions = config.hidden_size;
  TRY(wire::ModelFacts facts, facts_of(model_, model_.path));
  facts.architecture = config.architecture;
  facts.embedding_length = config.hidden_size;
  facts.num_layers = config.num_layers;
  facts.num_heads = facts.num_kv_heads = config.num_heads;
  auto encode = [encoder = std::shared_ptr<model::Encoder>(std::move(loaded.encoder))](
                    std::span<const std::vector<TokenId>> sequences) { return encoder->encode(sequences); };
  auto embedder = std::make_shared<engine::EmbedWorker>(options, std::move(encode));
  {
    const std::lock_guard lock(mutex_);
    embedder_ = embedder;
  }
  router::EmbeddingModel model;
  model.text.tokenizer = std::move(loaded.tokenizer);
  model.text.context_length = context_length;
  model.text.fingerprint = fingerprint_of(model_);
  model.text.dimensions = dimensions;
  model.text.facts = std::make_shared<const wire::ModelFacts>(std::move(facts));
  model.worker = std::move(embedder);
  return router::ServedModel(std::move(model));
}

}  // namespace kvasir::host
