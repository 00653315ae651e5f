#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/command.h"
#include "app/progress_display.h"
#include "app/say.h"
#include "app/signal_watch.h"
#include "config/load.h"
#include "hub/open.h"

namespace kvasir::app {

namespace {

constexpr int kInterrupted = 130;

struct PullFlags {
  config::FlagValues settings;
  std::vector<std::string> names;
};

base::Result<std::vector<const hub::Entry*>> entries_named(const hub::Library& library,
                                                           const std::vector<std::string>& names) {
  std::vector<const hub::Entry*> entries;
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    TRY(const hub::Model model, library.find(name));
    if (model.entry == nullptr)
      return base::error(base::ErrorCode::invalid_argument,
                         "'{}' is {} on this machine and in no catalogue: there is nothing to pull", name,
                         model.path.string());
    entries.push_back(model.entry);
  }
  return entries;
}

void pull_all(const std::vector<const hub::Entry*>& entries, const config::Settings& settings,
              Outcome& outcome) {
  const auto halt = std::make_unique<std::stop_source>();
  const SignalWatch watch({SIGINT, SIGTERM}, [&](int) {
    if (halt->stop_requested()) ::_exit(kInterrupted);
    halt->request_stop();
  });
  std::mutex mutex;
  std::vector<base::Error> errors;  // guarded by mutex
  std::vector<std::string> paths;   // guarded by mutex
  {
    ProgressDisplay display(stderr_progress());
    std::vector<std::jthread> threads;
    threads.reserve(entries.size());
    for (const hub::Entry* entry : entries)
      threads.emplace_back([&, entry] {
        auto path = hub::pull(*entry, hub::pull_options(settings, halt->get_token()), display);
        const std::lock_guard lock(mutex);
        if (path.ok())
          paths.push_back(path->string());
        else
          errors.push_back(path.error());
      });
  }
  for (const std::string& path : paths) fmt::print("{}\n", path);
  for (const base::Error& error : errors) {
    if (error.code == base::ErrorCode::cancelled) continue;
    report(outcome, error);
  }
  if (!halt->stop_requested()) return;
  say(stderr, "kvasir: interrupted; what was fetched is kept, and the next pull goes on from there\n");
  outcome.status = kInterrupted;
}

}  // namespace

void add_pull(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("pull", "Fetch models by name into the model folder");
  command->footer(
      "Prints the path of each model. Files are checked by SHA-256 and appear only when whole; an\n"
      "interrupted pull goes on where it stopped. A gated model needs HF_TOKEN in the environment.\n"
      "Names: 'kvasir models'. More can be added in ~/.config/kvasir/models.toml.\n"
      "\n"
      "Examples:\n"
      "  kvasir pull smollm2\n"
      "  kvasir pull smollm2 qwen2.5-coder --model-dir /data/models\n"
      "\n"
      "Exit status: 0 all are there, 1 some could not be had, 2 wrong usage, 130 interrupted.");
  auto flags = std::make_shared<PullFlags>();
  command->add_option("NAME", flags->names, "Models to fetch")->required()->type_name("");
  config::add_flags(*command, flags->settings, {"model_dir", "hf_endpoint", "offline"});
  command->callback([flags, &outcome] {
    const auto settings = config::load(flags->settings);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    const auto library = hub::open_library(*settings);
    if (!library.ok()) return report(outcome, library.error());
    const auto entries = entries_named(*library, flags->names);
    if (!entries.ok()) return report(outcome, entries.error());
    pull_all(*entries, *settings, outcome);
  });
}

}  // namespace kvasir::app
