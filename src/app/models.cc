#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>
#include <string>

#include "app/command.h"
#include "config/load.h"
#include "hub/open.h"

namespace kvasir::app {

namespace {

struct ModelsFlags {
  config::FlagValues settings;
  bool json = false;
};

std::string size_text(std::uint64_t bytes) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  if (megabytes >= 1000) return fmt::format("{:.1f} GB", megabytes / 1000);
  return fmt::format("{:.{}f} MB", megabytes, megabytes < 10 ? 1 : 0);
}

std::string description_of(const hub::Model& model) {
  if (model.entry == nullptr) return model.path.string();
  if (model.entry->not_served.empty()) return model.entry->description;
  return fmt::format("{} (not served: {})", model.entry->description, model.entry->not_served);
}

void print_table(const std::vector<hub::Model>& models) {
  fmt::print("{:<16} {:>8}  {:<8} {:<11} {}\n", "NAME", "SIZE", "STATE", "LICENCE", "DESCRIPTION");
  for (const hub::Model& model : models)
    fmt::print("{:<16} {:>8}  {:<8} {:<11} {}\n", model.name, size_text(model.size),
               hub::state_name(model.state), model.entry ? model.entry->licence : "-", description_of(model));
}

void print_json(const std::vector<hub::Model>& models) {
  boost::json::array rows;
  for (const hub::Model& model : models) {
    const bool there = model.state == hub::ModelState::ready || model.state == hub::ModelState::own;
    boost::json::object row{{"name", model.name},
                            {"state", hub::state_name(model.state)},
                            {"size", model.size},
                            {"path", there ? boost::json::value(model.path.string()) : nullptr}};
    if (model.entry != nullptr) {
      row["title"] = model.entry->title;
      row["description"] = model.entry->description;
      row["licence"] = model.entry->licence;
      row["not_served"] = model.entry->not_served.empty() ? boost::json::value(nullptr)
                                                          : boost::json::value(model.entry->not_served);
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}\n", boost::json::serialize(rows));
}

}  // namespace

void add_models(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("models", "List the models that are there and that can be had");
  command->footer(
      "States: ready (fetched and verified), partial ('kvasir pull' finishes it), absent (can be pulled),\n"
      "own (put into the model folder by hand). What 'kvasir serve' does not take is marked 'not served'.\n"
      "\n"
      "Examples:\n"
      "  kvasir models\n"
      "  kvasir models --json");
  auto flags = std::make_shared<ModelsFlags>();
  command->add_flag("--json", flags->json, "Print one JSON array instead of a table");
  config::add_flags(*command, flags->settings, {"model_dir"});
  command->callback([flags, &outcome] {
    const auto settings = config::load(flags->settings);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    const auto library = hub::open_library(*settings);
    if (!library.ok()) return report(outcome, library.error());
    if (flags->json)
      print_json(library->list());
    else
      print_table(library->list());
  });
}

}  // namespace kvasir::app
