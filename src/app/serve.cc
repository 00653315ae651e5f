#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/progress_display.h"
#include "app/restart.h"
#include "app/say.h"
#include "app/service_notice.h"
#include "app/signal_watch.h"
#include "base/result.h"
#include "config/load.h"
#include "gateway/gateway.h"
#include "gateway/remote_models.h"
#include "obs/log.h"

namespace kvasir::app {

namespace {

constexpr int kInterrupted = 130;
// Engines and connections get this time to end after the drain of a restart.
constexpr std::chrono::seconds kRestartGrace{15};

// Clients cannot connect to a wildcard address, so the URL names loopback instead.
std::string url_of(const config::Settings& settings, std::string host, int port) {
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return fmt::format("{}://{}:{}", settings.tls_cert.empty() ? "http" : "https", host, port);
}

void print_welcome(const std::vector<router::ModelStatus>& models,
                   const std::vector<config::UpstreamConfig>& upstreams, const std::string& url) {
  say(stdout, "Kvasir {} serves on {}\n\n", KVASIR_VERSION, url);
  for (const router::ModelStatus& model : models)
    say(stdout, "  {:<28} {}\n", model.name, name_of(model.state.phase));
  for (const config::UpstreamConfig& upstream : upstreams)
    say(stdout, "  {:<28} at {}\n", upstream.name, upstream.url);
  say(stdout,
      "\nTry it:\n"
      "  curl {}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{{\"model\":\"{}\",\"messages\":[{{\"role\":\"user\",\"content\":\"What is 2+2?\"}}],"
      "\"stream\":true}}'\n\n",
      url,
      !models.empty()      ? models.front().name
      : !upstreams.empty() ? upstreams.front().name
                           : "MODEL");
  std::fflush(stdout);
}

void say_who_may_ask(const config::Settings& settings, const gateway::Gateway& gateway) {
  if (gateway.needs_key()) return;
  if (gateway.host() != settings.host)
    say(stderr,
        "kvasir: there are no API keys, so it listens on {} instead of {}; create one with 'kvasir key\n"
        "create', or let everybody in with --allow-anonymous, and start again\n",
        gateway.host(), settings.host);
  else if (settings.allow_anonymous)
    say(stderr, "kvasir: there are no API keys: whoever reaches {} may use it (--allow-anonymous)\n",
        settings.host);
}

void say_state(ProgressDisplay& display, const std::string& name, const router::ModelState& state) {
  if (state.phase == router::Phase::ready)
    display.note(name, state.reason.empty() ? "ready" : "ready, with a " + state.reason);
  if (state.phase == router::Phase::failed) display.note(name, "failed: " + state.reason);
  if (state.phase == router::Phase::restarting) display.note(name, "its engine failed: " + state.reason);
}

// Waits for the end of `serve`: a signal, a failed engine, or the failure of all models that were named at
// the start. Thread-safe.
class EndOfService {
 public:
  explicit EndOfService(std::size_t num_models) : num_models_(num_models) {}

  void signal() {
    signalled_ = true;
    wake_.release();
  }
  void engine_failed() {
    engine_failed_ = true;
    wake_.release();
  }
  // True for the first model that is ready.
  bool model_ready() { return !any_ready_.exchange(true); }
  void model_failed(const std::string& name) {
    const std::lock_guard lock(mutex_);
    failed_.insert(name);
    if (any_ready_ || failed_.size() < num_models_) return;
    all_failed_ = true;
    wake_.release();
  }
  void wait() { wake_.acquire(); }
  bool all_failed() const { return all_failed_; }
  // A signal means that the operator wants the process to end, not to restart.
  bool wants_restart() const { return engine_failed_ && !signalled_; }

 private:
  const std::size_t num_models_;  // models named at the start
  std::mutex mutex_;
  std::set<std::string> failed_;  // models named at the start that failed; guarded by mutex_
  std::atomic<bool> any_ready_{false};
  std::atomic<bool> all_failed_{false};
  std::atomic<bool> signalled_{false};
  std::atomic<bool> engine_failed_{false};
  std::counting_semaphore<> wake_{0};
};

// How to restart the process.
struct Restart {
  RestartHistory history;
  std::vector<std::string> more_arguments;

  // Returns only if the restart fails.
  base::Error carry_out() const {
    say(stderr, "kvasir: starting again\n");
    return restart_process(history, more_arguments);
  }
};

// Ends the process after a time, unless this object is destroyed before. It does not wait for other threads,
// which a broken device may block.
class EndAtLatest {
 public:
  // If there is a restart, the process restarts instead of ending.
  EndAtLatest(const std::optional<Restart>& restart, std::chrono::duration<double> after)
      : thread_([restart, after](const std::stop_token& stop) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          if (std::condition_variable_any().wait_for(lock, stop, after,
                                                     [&] { return stop.stop_requested(); }))
            return;
          if (restart) say(stderr, "kvasir: {}\n", restart->carry_out().message);
          ::_exit(kFailure);
        }) {}

 private:
  std::jthread thread_;
};

void drain(gateway::Gateway& gateway, const EndOfService& end, double notice_s) {
  if (end.all_failed()) return;
  if (end.wants_restart()) {
    say(stderr, "kvasir: an engine failed; draining\n");
    if (!gateway.drain(api::Api::Drain::restart))
      say(stderr, "kvasir: cut off what did not finish in time\n");
    return;
  }
  notify_service(kServiceStops);
  say(stderr, "kvasir: draining; once more ends it at once\n");
  if (notice_s > 0) {
    gateway.announce_drain();
    std::this_thread::sleep_for(std::chrono::duration<double>(notice_s));
  }
  if (!gateway.drain()) say(stderr, "kvasir: cut off what did not finish in time\n");
}

base::Status may_restart(const RestartHistory& history, const config::Settings& settings) {
  const int num_recent = history.num_in_window(monotonic_s());
  if (num_recent < settings.max_restarts) return base::ok();
  return base::error(base::ErrorCode::unavailable,
                     "an engine failed, after {} restarts within {} minutes; --max-restarts allows no more",
                     num_recent, RestartHistory::kWindowS / 60);
}

// Returns the restart that must follow, if there is one.
std::optional<Restart> serve(const config::Settings& settings, Outcome& outcome) {
  if (const auto level = obs::parse_log_level(settings.log_level); level.ok()) obs::Log::set_level(*level);
  obs::Log::set_format(settings.log_format == "json" ? obs::LogFormat::json : obs::LogFormat::text);
  // Upstreams and workers may come back later, so failed models do not end the process.
  const bool has_others = gateway::RemoteModels::are_meant(settings) || !settings.upstreams.empty();
  const bool is_ready_at_once = has_others || settings.model.empty();
  EndOfService end(has_others ? SIZE_MAX : settings.model.size());
  bool asked = false;  // touched only by the watch's thread
  // When a terminal closes, its shell and the system may each send a SIGHUP. So a second SIGHUP does not end
  // the process at once.
  const SignalWatch watch({SIGINT, SIGTERM, SIGHUP}, [&](int signal) {
    if (std::exchange(asked, true)) {
      if (signal == SIGHUP) return;
      ::_exit(kInterrupted);
    }
    end.signal();
  });
  ::signal(SIGPIPE, SIG_IGN);
  ProgressDisplay display(stderr_progress());
  const auto on_state = [&](const std::string& name, const router::ModelState& state) {
    say_state(display, name, state);
    if (state.phase == router::Phase::ready && end.model_ready() && !is_ready_at_once)
      notify_service(kServiceReady);
    if (state.phase == router::Phase::failed) end.model_failed(name);
    if (state.phase == router::Phase::restarting) end.engine_failed();
  };
  auto gateway = gateway::Gateway::start(settings, display, on_state);
  if (!gateway.ok()) {
    report(outcome, gateway.error());
    return std::nullopt;
  }
  Restart restart{RestartHistory::of_this_process()};
  (*gateway)->count_restarts(restart.history.num_restarts());
  if (settings.port == 0) restart.more_arguments = {fmt::format("--port={}", (*gateway)->port())};
  say_who_may_ask(settings, **gateway);
  if (!end.all_failed())
    print_welcome((*gateway)->models(), settings.upstreams,
                  url_of(settings, (*gateway)->host(), (*gateway)->port()));
  if (is_ready_at_once) notify_service(kServiceReady);
  end.wait();
  std::optional<Restart> next;
  std::optional<EndAtLatest> at_latest;
  const base::Status allowed = may_restart(restart.history, settings);
  if (end.wants_restart()) {
    if (allowed.ok()) next = restart;
    at_latest.emplace(next, std::chrono::duration<double>(settings.restart_drain_s) + kRestartGrace);
  }
  drain(**gateway, end, settings.drain_notice_s);
  gateway->reset();
  at_latest.reset();
  obs::Log::flush();
  if (end.all_failed())
    report(outcome,
           base::error(base::ErrorCode::unavailable, "no model could be loaded; there is nothing to serve"));
  if (!end.wants_restart()) return std::nullopt;
  if (!allowed.ok()) report(outcome, allowed.error());
  return next;
}

}  // namespace

void add_serve(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("serve", "Serve models behind an OpenAI-compatible API");
  command->footer(
      "Models that are not on this machine are fetched first; those that are ready answer meanwhile.\n"
      "It ends when none of its models could be loaded.\n"
      "When a GPU fails in flight, the server answers what ran with an error and starts itself again\n"
      "(--max-restarts).\n"
      "SIGTERM, SIGHUP or Ctrl-C lets running answers finish (--drain-timeout-s);\n"
      "a second SIGTERM or Ctrl-C ends it at once.\n"
      "\n"
      "Examples:\n"
      "  kvasir serve\n"
      "  kvasir serve --model smollm2 --port 9000\n"
      "  kvasir serve --model ./my-model.gguf --host 0.0.0.0\n"
      "  kvasir serve --host 0.0.0.0 --tls-cert server.pem --tls-key server.key\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 failure, 2 wrong usage, 130 ended at once.");
  auto flags = std::make_shared<config::FlagValues>();
  config::add_flags(*command, *flags);
  command->callback([flags, &outcome] {
    auto settings = config::load(*flags);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    settings->workers.clear();  // the flags of workers are for `kvasir gateway`
    settings->etcd.clear();
    if (const std::optional<Restart> restart = serve(*settings, outcome))
      report(outcome, restart->carry_out());
  });
}

void add_gateway(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("gateway", "Serve the models of a fleet's workers");
  command->footer(
      "It has no weights: tokenizers and templates come from the workers, which the file of --workers "
      "lists\n"
      "(it may change at any time), or which have registered in etcd (--etcd).\n"
      "Requests are answered as by 'kvasir serve'; a worker that is gone is taken back when it returns.\n"
      "\n"
      "Examples:\n"
      "  kvasir gateway --workers fleet.toml\n"
      "with\n"
      "  [[worker]]\n"
      "  id = \"a\"\n"
      "  address = \"127.0.0.1:7070\"\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 failure, 2 wrong usage, 130 ended at once.");
  auto flags = std::make_shared<config::FlagValues>();
  config::add_flags(*command, *flags);
  command->callback([flags, &outcome] {
    const auto settings = config::load(*flags);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    if (!gateway::RemoteModels::are_meant(*settings))
      return report_usage(outcome,
                          base::error(base::ErrorCode::invalid_argument,
                                      "a gateway needs to know its workers: --workers FILE or --etcd URL"));
    if (const std::optional<Restart> restart = serve(*settings, outcome))
      report(outcome, restart->carry_out());
  });
}

}  // namespace kvasir::app
