#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>

#include "app/command.h"
#include "app/progress_display.h"
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

void print_welcome(const gateway::Gateway& gateway, const std::string& url) {
  const auto models = gateway.models();
  fmt::print("Kvasir {} serves on {}\n\n", KVASIR_VERSION, url);
  for (const router::ModelStatus& model : models)
    fmt::print("  {:<28} {}\n", model.name, name_of(model.state.phase));
  fmt::print(
      "\nTry it:\n"
      "  curl {}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{{\"model\":\"{}\",\"messages\":[{{\"role\":\"user\",\"content\":\"What is 2+2?\"}}],"
      "\"stream\":true}}'\n\n",
      url, models.front().name);
  std::fflush(stdout);
}

void say_state(ProgressDisplay& display, const std::string& name, const router::ModelState& state) {
  if (state.phase == router::Phase::ready) display.note(name, "ready");
  if (state.phase == router::Phase::failed) display.note(name, "failed: " + state.reason);
}

void serve(const config::Settings& settings, Outcome& outcome) {
  if (const auto level = obs::parse_log_level(settings.log_level); level.ok()) obs::Log::set_level(*level);
  std::binary_semaphore asked_to_stop(0);
  bool asked = false;  // touched by the watch's thread only
  const SignalWatch watch({SIGINT, SIGTERM}, [&](int) {
    if (std::exchange(asked, true)) ::_exit(kInterrupted);
    asked_to_stop.release();
  });
  ::signal(SIGPIPE, SIG_IGN);
  ProgressDisplay display(stderr_progress());
  auto gateway = gateway::Gateway::start(
      settings, display,
      [&](const std::string& name, const router::ModelState& state) { say_state(display, name, state); });
  if (!gateway.ok()) return report(outcome, gateway.error());
  print_welcome(**gateway, url_of(settings, (*gateway)->port()));
  asked_to_stop.acquire();
  fmt::print(stderr, "kvasir: draining; once more ends it at once\n");
  if (!(*gateway)->drain()) fmt::print(stderr, "kvasir: cut off what did not finish in time\n");
  gateway->reset();
  obs::Log::flush();
}

}  // namespace

void add_serve(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("serve", "Serve models behind an OpenAI-compatible API");
  command->footer(
      "Models that are not on this machine are fetched first; those that are ready answer meanwhile.\n"
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
