#include "app/bench_sim.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench_load_flags.h"
#include "bench/sim_session.h"

namespace kvasir::app {

namespace {

struct SimFlags : LoadFlags {
  std::string device = "cpu";
  std::string costs;
  std::optional<double> kv_ns;
  std::optional<double> prefill_kv_ns;
  std::vector<double> targets_ms;
  int num_blocks = 0;
  int template_tokens = 0;
  double client_ms = 2;
  bool admits_by_goodput = false;
  int num_workers = 0;
  int num_gateways = 1;
  std::string route = "cache";
  double report_every_ms = 0;
};

// Sets the scheduler up as `serve` does on the device that the flags name.
bench::SimOptions sim_options(const SimFlags& flags) {
  const bool on_gpu = flags.device == "gpu";
  bench::SimOptions options{.session = flags.session,
                            .device = flags.device == "gpu" ? "8B on an H200" : "1.5B on two cores",
                            .costs = on_gpu ? sim::gpu_costs() : sim::cpu_costs()};
  options.scheduler = {.num_blocks = on_gpu ? 60000 : 2300,
                       .max_batch_tokens = on_gpu ? 8192 : 512,
                       .max_batch_sequences = on_gpu ? 512 : 64,
                       .target_step_s = 0,
                       .short_step_s = on_gpu ? 0.013 : 0.15,
                       .prefill_share = on_gpu ? 0.55 : 0.33,
                       .min_batch_decodes = on_gpu ? 512 : 256};
  if (flags.num_blocks > 0) options.scheduler.num_blocks = flags.num_blocks;
  if (flags.kv_ns) options.costs.kv_token_s = *flags.kv_ns * 1e-9;
  if (flags.prefill_kv_ns) options.costs.prefill_kv_token_s = *flags.prefill_kv_ns * 1e-9;
  if (flags.slo_ttft_ms) options.scheduler.slo.ttft_s = *flags.slo_ttft_ms / 1e3;
  if (flags.slo_tpot_ms) options.scheduler.slo.tpot_s = *flags.slo_tpot_ms / 1e3;
  options.template_tokens = flags.template_tokens;
  options.client_s = flags.client_ms / 1e3;
  options.admits_by_goodput = flags.admits_by_goodput;
  options.num_workers = flags.num_workers;
  options.num_gateways = flags.num_gateways;
  options.route = flags.route;
  options.report_every_s = flags.report_every_ms / 1e3;
  return options;
}

base::Status simulate_all(SimFlags& flags, Outcome& outcome) {
  TRY_OK(settle_load(flags));
  // Goodput uses the SLOs that the scheduler aims at, unless others are given.
  if (!flags.slo_ttft_ms && !flags.slo_tpot_ms) flags.session.slo = {};
  bench::SimOptions options = sim_options(flags);
  if (!flags.costs.empty()) {
    TRY(options.costs.points, sim::parse_cost_points(flags.costs));
    options.device = "a device of " + flags.costs;
  }
  if (flags.targets_ms.empty()) flags.targets_ms = {0};
  for (const double target_ms : flags.targets_ms) {
    options.scheduler.target_step_s = target_ms / 1e3;
    TRY(const bench::LoadReport report, bench::run_sim(options));
    print_load_report(flags, report, outcome);
    fmt::print("\n");
  }
  return base::ok();
}

void bench_sim(SimFlags& flags, Outcome& outcome) {
  const base::Status status = simulate_all(flags, outcome);
  if (status.ok()) return;
  const bool usage = status.error().code == base::ErrorCode::invalid_argument;
  return usage ? report_usage(outcome, status.error()) : app::report(outcome, status.error());
}

void add_device_flags(CLI::App& command, SimFlags& flags) {
  command.add_option("--device", flags.device, "Measured costs: 1.5B on two cores, or 8B on an H200")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->type_name("cpu|gpu")
      ->capture_default_str();
  command.add_option("--costs", flags.costs, "What steps take instead, by their rows: 1:50,8:91,64:385")
      ->type_name("ROWS:MS,...");
  command.add_option("--kv-ns", flags.kv_ns, "Nanoseconds for a KV token that a stream attends to")
      ->type_name("NS");
  command.add_option("--prefill-kv-ns", flags.prefill_kv_ns, "... and that a prompt's row attends to")
      ->type_name("NS");
  command
      .add_option("--target-step-ms", flags.targets_ms,
                  "Fixed lengths of steps, simulated one after the other; 0: chosen for the SLOs (default)")
      ->type_name("MS,...")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 60000.0));
  command.add_flag("--admission", flags.admits_by_goodput,
                   "Refuse requests that are forecast to miss their SLOs");
  command.add_option("--blocks", flags.num_blocks, "KV blocks (default: as many as such a device has)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  command.add_option("--template-tokens", flags.template_tokens, "Tokens that every prompt begins with")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
  command
      .add_option("--client-ms", flags.client_ms,
                  "Milliseconds between an answer and its client's next request")
      ->type_name("MS")
      ->check(CLI::Range(0.0, 60000.0))
      ->capture_default_str();
}

void add_fleet_flags(CLI::App& command, SimFlags& flags) {
  command.add_option("--workers", flags.num_workers, "Simulate a fleet of so many workers behind a router")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  command.add_option("--route", flags.route, "How the router chooses a worker")
      ->check(CLI::IsMember({"cache", "least_loaded", "round_robin", "random"}))
      ->capture_default_str();
  command.add_option("--gateways", flags.num_gateways, "Routers that know nothing of each other")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option("--report-every-ms", flags.report_every_ms,
                  "Milliseconds between what a worker tells a gateway; 0: gateways know at once")
      ->type_name("MS")
      ->check(CLI::Range(0.0, 600000.0))
      ->capture_default_str();
}

}  // namespace

void add_bench_sim(CLI::App& bench_command, Outcome& outcome) {
  CLI::App* command = bench_command.add_subcommand(
      "sim", "Simulate the scheduler on a modelled device, to compare lengths of steps in seconds");
  auto flags = std::make_shared<SimFlags>();
  add_device_flags(*command, *flags);
  add_fleet_flags(*command, *flags);
  add_load_flags(*command, *flags);
  add_workload_flags(*command, *flags);
  add_report_flags(*command, *flags);
  command->footer(
      "The scheduler is the one that serves; the device takes the time that steps were measured to take.\n"
      "Workloads and figures are those of kvasir bench serve; --slo-ttft and --slo-tpot are also what the\n"
      "scheduler aims at.\n"
      "\n"
      "Examples:\n"
      "  kvasir bench sim --concurrency 32 --requests 32 --template-tokens 30 --target-step-ms 0,150,600\n"
      "  kvasir bench sim --device gpu --workload mixed --output-tokens 150 --concurrency 256 --requests "
      "3000\n"
      "  kvasir bench sim --device gpu --workers 4 --route round_robin --workload multi-turn --turns 6 "
      "--prefix-tokens 2048 \\\n"
      "    --prefix-groups 32 --concurrency 1024 --client-ms 5000 --requests 20000\n"
      "  kvasir bench sim --device gpu --workload mixed --rates 20,40,60,80 --requests 2000 --report "
      "sim.html\n"
      "\n"
      "Exit status: 0 simulated, 1 failure, 2 wrong usage.");
  command->callback([flags, &outcome] { bench_sim(*flags, outcome); });
}

}  // namespace kvasir::app
