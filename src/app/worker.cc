#include "worker/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "app/command.h"
#include "app/progress_display.h"
#include "app/say.h"
#include "app/service_notice.h"
#include "app/signal_watch.h"
#include "config/load.h"
#include "obs/log.h"

namespace kvasir::app {

namespace {

constexpr int kEndedAtOnce = 130;

// Passes signals on to the worker, as soon as there is one.
class WorkerEnd {
 public:
  void signal() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(signalled_, true)) ::_exit(kEndedAtOnce);
    if (worker_ != nullptr) worker_->end();
  }
  void set(worker::Worker* worker) {
    const std::lock_guard lock(mutex_);
    worker_ = worker;
    if (signalled_ && worker_ != nullptr) worker_->end();
  }

 private:
  std::mutex mutex_;
  bool signalled_ = false;            // guarded by mutex_
  worker::Worker* worker_ = nullptr;  // guarded by mutex_
};

base::Status work(worker::Worker& worker) {
  TRY(const std::optional<wire::WorkerCard> card, worker.load());
  if (!card) return base::ok();
  say(stdout, "Kvasir {} has '{}' for gateways on {}; health on port {}\n", KVASIR_VERSION, card->model,
      card->address, worker.health_port());
  std::fflush(stdout);
  notify_service(kServiceReady);
  TRY_OK(worker.wait());
  notify_service(kServiceStops);
  say(stderr, "kvasir: draining; once more ends it at once\n");
  if (!worker.drain()) say(stderr, "kvasir: cut off what did not finish in time\n");
  return base::ok();
}

void run_worker(const config::Settings& settings, Outcome& outcome) {
  if (const auto level = obs::parse_log_level(settings.log_level); level.ok()) obs::Log::set_level(*level);
  obs::Log::set_format(settings.log_format == "json" ? obs::LogFormat::json : obs::LogFormat::text);
  WorkerEnd end;
  const SignalWatch watch({SIGINT, SIGTERM, SIGHUP}, [&end](int) { end.signal(); });
  ::signal(SIGPIPE, SIG_IGN);
  ProgressDisplay display(stderr_progress());
  auto worker = worker::Worker::start(settings, display);
  if (!worker.ok()) {
    const bool usage = worker.error().code == base::ErrorCode::invalid_argument;
    return usage ? report_usage(outcome, worker.error()) : report(outcome, worker.error());
  }
  end.set(worker->get());
  const base::Status status = work(**worker);
  end.set(nullptr);
  worker->reset();
  obs::Log::flush();
  if (!status.ok()) report(outcome, status.error());
}

}  // namespace

void add_worker(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("worker", "Compute one model for the gateways of a fleet");
  command->footer(
      "Gateways reach it at --listen; /health and /metrics are at --health-listen.\n"
      "SIGTERM, SIGHUP or Ctrl-C lets running answers finish (--drain-timeout-s);\n"
      "a second one ends it at once.\n"
      "\n"
      "Examples:\n"
      "  kvasir worker --model smollm2\n"
      "  kvasir worker --model smollm2 --listen 127.0.0.1:7080 --health-listen 127.0.0.1:7081\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 failure, 2 wrong usage, 130 ended at once.");
  auto flags = std::make_shared<config::FlagValues>();
  config::add_flags(*command, *flags);
  command->callback([flags, &outcome] {
    const auto settings = config::load(*flags);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    run_worker(*settings, outcome);
  });
}

}  // namespace kvasir::app
