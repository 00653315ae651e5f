#include "app/bench_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "app/progress_line.h"
#include "base/clock.h"
#include "bench/engine_report.h"
#include "bench/random_model.h"
#include "config/load.h"
#include "hub/open.h"
#include "ops/cpu/isa.h"

namespace kvasir::app {

namespace {

using base::ErrorCode;

struct EngineFlags {
  config::FlagValues settings;
  std::string model;
  std::string random;
  std::string type = "Q4_0";
  std::string write;
  bench::EngineBenchOptions options;
  int num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool json = false;
};

base::Error of_flag(const char* flag, const base::Error& error) {
  return base::error(error.code, "{}: {}", flag, error.message);
}

// The file that is measured. A file that was made only for the measurement is deleted with this object.
struct Checkpoint {
  Checkpoint() = default;
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  ~Checkpoint() {
    std::error_code ignored;
    if (!temporary.empty()) std::filesystem::remove_all(temporary, ignored);
  }

  std::filesystem::path path;
  std::filesystem::path temporary;
};

class Session {
 public:
  explicit Session(const EngineFlags& flags) : flags_(flags) {}

  base::Result<bench::EngineReport> run() {
    TRY(const config::Settings settings, config::load(flags_.settings));
    TRY_OK(find_model(settings));
    TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
    ops::ComputePool pool(flags_.num_threads, isa);
    bench::EngineReport report;
    report.machine = bench::measure_machine(pool, [&](std::string_view what) { show(what); });
    report.isa = ops::name(isa);
    show("loading the model");
    bench::EngineBenchOptions options = flags_.options;
    options.kv_type = ops::kv_type_named(settings.kv_type);
    TRY(report.load, bench::measure_load(checkpoint_.path.string(), options.kv_type));
    const base::TimePoint start = base::RealClock().now();
    TRY(model::LoadedModel model, model::open_model(checkpoint_.path, {}, pool));
    report.load_s = base::seconds(base::RealClock().now() - start);
    report.load.name =
        flags_.random.empty() ? flags_.model : fmt::format("{} {} random", flags_.random, flags_.type);
    TRY(report.figures, bench::bench_engine(std::move(model), report.load, options,
                                            [&](std::string_view what) { show(what); }));
    progress_.clear();
    return report;
  }

 private:
  void show(std::string_view what) { progress_.show(fmt::format("bench engine: {}", what)); }

  base::Status find_model(const config::Settings& settings) {
    if (flags_.model.empty() == flags_.random.empty())
      return base::error(ErrorCode::invalid_argument, "--model or --random: name one of them");
    if (!flags_.random.empty()) return make_random();
    TRY(const hub::Library library, hub::open_library(settings));
    auto model = library.find(flags_.model);
    if (!model.ok()) return of_flag("--model", model.error());
    if (model->state != hub::ModelState::ready && model->state != hub::ModelState::own)
      return base::error(ErrorCode::not_found, "--model: {} is not here yet: run 'kvasir pull {}'",
                         model->name, model->name);
    checkpoint_.path = model->path;
    return base::ok();
  }

  base::Status make_random() {
    const auto shape = bench::find_shape(flags_.random);
    if (!shape.ok()) return of_flag("--random", shape.error());
    const auto types = bench::parse_weight_types(flags_.type);
    if (!types.ok()) return of_flag("--type", types.error());
    checkpoint_.path = flags_.write;
    if (flags_.write.empty()) {
      std::error_code code;
      std::string pattern = (std::filesystem::temp_directory_path(code) / "kvasir_bench_XXXXXX").string();
      if (code || ::mkdtemp(pattern.data()) == nullptr)
        return base::error(ErrorCode::io,
                           "cannot make a temporary folder; --write names a place for the file");
      checkpoint_.temporary = pattern;
      checkpoint_.path = checkpoint_.temporary / "random.gguf";
    }
    const auto written =
        bench::write_random_model(checkpoint_.path, **shape, *types, flags_.options.seed, [&](double part) {
          show(fmt::format("making {} {}: {:.0f} %", flags_.random, types->name, 100 * part));
        });
    if (!written.ok())
      return of_flag(written.error().code == ErrorCode::io ? "--write" : "--type", written.error());
    return base::ok();
  }

  const EngineFlags& flags_;
  Checkpoint checkpoint_;
  ProgressLine progress_;
};

void bench_engine(const EngineFlags& flags, Outcome& outcome) {
  const auto report = Session(flags).run();
  if (!report.ok()) {
    const bool usage = report.error().code == ErrorCode::invalid_argument;
    return usage ? report_usage(outcome, report.error()) : app::report(outcome, report.error());
  }
  if (flags.json)
    fmt::print("{}\n", boost::json::serialize(bench::engine_json(*report)));
  else
    fmt::print("{}", bench::engine_table(*report));
}

void add_model_flags(CLI::App& command, EngineFlags& flags) {
  std::string shapes;
  for (const bench::ModelShape& shape : bench::model_shapes())
    shapes += (shapes.empty() ? "" : ", ") + std::string(shape.name);
  command
      .add_option("--model", flags.model, "A GGUF file, a model directory, or a name from 'kvasir models'")
      ->type_name("NAME|PATH");
  command.add_option("--random", flags.random, "Random weights of a real model's shape instead: " + shapes)
      ->type_name("SHAPE");
  command.add_option("--type", flags.type, "How random weights are stored: Q4_0, Q8_0, Q4_K_M, F16, ...")
      ->type_name("TYPE")
      ->capture_default_str();
  command.add_option("--write", flags.write, "Keep the random model as a GGUF, for other programs too")
      ->type_name("FILE.gguf");
}

void add_measure_flags(CLI::App& command, EngineFlags& flags) {
  bench::EngineBenchOptions& options = flags.options;
  command.add_option("--prompt", options.prompts, "Tokens of the prompts whose prefill is measured")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->default_str("128,512");
  command.add_option("--batch", options.batches, "Sequences that decode together")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->default_str("1,4,16,32");
  command.add_option("--gen", options.gen, "Decode steps that are measured")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--depth", options.depth, "Tokens of context before them")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--chunk", options.max_batch_tokens, "Prompt tokens in one step")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--temperature", options.temperature, "0: always the likeliest token")
      ->type_name("T")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command.add_option("--threads", flags.num_threads, "Compute threads (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--json", flags.json, "Print one JSON object instead of the table");
}

}  // namespace

void add_bench_engine(CLI::App& bench_command, Outcome& outcome) {
  CLI::App* command = bench_command.add_subcommand(
      "engine", "Measure prefill and decode on this machine, beside what the machine could do at best");
  auto flags = std::make_shared<EngineFlags>();
  add_model_flags(*command, *flags);
  add_measure_flags(*command, *flags);
  config::add_flags(*command, flags->settings, {"model_dir", "isa", "kv_type"});
  command->footer(
      "First the machine itself: how fast all threads read memory, and the arithmetic peak of each kind of\n"
      "instruction. Then the whole engine, with its scheduler, sampler and token streams: prefill of each\n"
      "--prompt, and decode of each --batch at --depth. The context of a decode is put into memory without\n"
      "being computed. Outside the kernels: what a step took beyond the decoder.\n"
      "\n"
      "Examples:\n"
      "  kvasir bench engine --model smollm2\n"
      "  kvasir bench engine --random qwen2.5-1.5b --type Q4_K_M --batch 1,2,8,32\n"
      "  kvasir bench engine --random llama-3.2-1b --type Q4_0 --write /tmp/random.gguf --json\n"
      "\n"
      "Exit status: 0 measured, 1 failure, 2 wrong usage.");
  command->callback([flags, &outcome] { bench_engine(*flags, outcome); });
}

}  // namespace kvasir::app
