#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "config/load.h"
#include "ops/weight.h"

namespace kvasir::app {

// The model that a check runs, and the number of threads.
struct CheckedModel {
  config::FlagValues settings;
  std::string name;  // or a path
  int num_threads = 1;
};

// A model that is compared with the results of a reference.
struct GoldenArguments {
  CheckedModel model;
  std::string golden;
  bool exact = false;

  ops::Precision precision() const { return exact ? ops::Precision::exact : ops::Precision::fast; }
};

// Adds the model's arguments. They come first on the command line, so call this before adding others.
void add_model(CLI::App& command, CheckedModel& model, const std::vector<std::string>& more_settings = {});
void add_golden(CLI::App& command, GoldenArguments& arguments,
                const std::vector<std::string>& more_settings = {});

// The first line of a text, cut to the width of a table's first column.
std::string row_label(std::string_view text);
// Prints the failures, or "ok".
void report_failures(Outcome& outcome, std::span<const std::string> failures);

}  // namespace kvasir::app
