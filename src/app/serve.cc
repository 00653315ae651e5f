#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/progress_display.h"
#include "app/say.h"
#include "app/signal_watch.h"
#include "config/load.h"
#include "gateway/gateway.h"
#include "obs/log.h"

namespace kvasir::app {

namespace {

constexpr int kInterrupted = 130;

// A wildcard address is not one that a client can ask for.
std::string url_of(const config::Settings& settings, int port) {
  std::string host = settings.host;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return fmt::format("http://{}:{}", host, port);
}

void print_welcome(const std::vector<router::ModelStatus>& models, const std::string& url) {
  say(stdout, "Kvasir {} serves on {}\n\n", KVASIR_VERSION, url);
  for (const router::ModelStatus& model : models)
    say(stdout, "  {:<28} {}\n", model.name, name_of(model.state.phase));
  say(stdout,
      "\nTry it:\n"
      "  curl {}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{{\"model\":\"{}\",\"messages\":[{{\"role\":\"user\",\"content\":\"What is 2+2?\"}}],"
      "\"stream\":true}}'\n\n",
      url, models.front().name);
  std::fflush(stdout);
}

void say_state(ProgressDisplay& display, const std::string& name, const router::ModelState& state) {
  if (state.phase == router::Phase::ready)
    display.note(name, state.reason.empty() ? "ready" : "ready, with a " + state.reason);
  if (state.phase == router::Phase::failed) display.note(name, "failed: " + state.reason);
}

// What ends `serve`: a signal, or the failure of its last model. Thread-safe.
class EndOfService {
 public:
  explicit EndOfService(std::size_t num_models) : num_left_(num_models) {}

  void signal() { wake_.release(); }
  void model_failed() {
    if (--num_left_ == 0) wake_.release();
  }
  void wait() { wake_.acquire(); }
  bool all_failed() const { return num_left_ == 0; }

 private:
  std::atomic<std::size_t> num_left_;  // models that have not failed
  std::counting_semaphore<> wake_{0};
};

void serve(const config::Settings& settings, Outcome& outcome) {
  if (const auto level = obs::parse_log_level(settings.log_level); level.ok()) obs::Log::set_level(*level);
  EndOfService end(settings.model.size());
  bool asked = false;  // touched by the watch's thread only
  const SignalWatch watch({SIGINT, SIGTERM}, [&](int) {
    if (std::exchange(asked, true)) ::_exit(kInterrupted);
    end.signal();
  });
  ::signal(SIGPIPE, SIG_IGN);
  ProgressDisplay display(stderr_progress());
  const auto on_state = [&](const std::string& name, const router::ModelState& state) {
    say_state(display, name, state);
    if (state.phase == router::Phase::failed) end.model_failed();
  };
  auto gateway = gateway::Gateway::start(settings, display, on_state);
  if (!gateway.ok()) return report(outcome, gateway.error());
  if (!end.all_failed()) print_welcome((*gateway)->models(), url_of(settings, (*gateway)->port()));
  end.wait();
  if (!end.all_failed()) {
    say(stderr, "kvasir: draining; once more ends it at once\n");
    if (!(*gateway)->drain()) say(stderr, "kvasir: cut off what did not finish in time\n");
  }
  gateway->reset();
  obs::Log::flush();
  if (end.all_failed())
    report(outcome,
           base::error(base::ErrorCode::unavailable, "no model could be loaded; there is nothing to serve"));
}

}  // namespace

void add_serve(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("serve", "Serve models behind an OpenAI-compatible API");
  command->footer(
      "Models that are not on this machine are fetched first; those that are ready answer meanwhile.\n"
      "It ends when none of its models could be loaded.\n"
      "SIGTERM or Ctrl-C lets running answers finish (--drain-timeout-s); a second one ends it at once.\n"
      "\n"
      "Examples:\n"
      "  kvasir serve\n"
      "  kvasir serve --model smollm2 --port 9000\n"
      "  kvasir serve --model ./my-model.gguf --host 0.0.0.0\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 failure, 2 wrong usage, 130 ended at once.");
  auto flags = std::make_shared<config::FlagValues>();
  config::add_flags(*command, *flags);
  command->callback([flags, &outcome] {
    const auto settings = config::load(*flags);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    serve(*settings, outcome);
  });
}

}  // namespace kvasir::app
