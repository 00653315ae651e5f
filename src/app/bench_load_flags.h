#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "app/command.h"
#include "base/result.h"
#include "bench/load_report.h"
#include "bench/load_session.h"

namespace kvasir::app {

// Flags that `bench serve` and `bench sim` share: the load, and the files of the report.
struct LoadFlags {
  bench::SessionOptions session;
  std::string workload = "chat";
  std::optional<std::uint64_t> seed;
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  bool json = false;
  std::string report;
};

void add_load_flags(CLI::App& command, LoadFlags& flags);
void add_workload_flags(CLI::App& command, LoadFlags& flags);
void add_report_flags(CLI::App& command, LoadFlags& flags);

// Checks the flags and completes the options.
base::Status settle_load(LoadFlags& flags);

void print_load_report(const LoadFlags& flags, const bench::LoadReport& report, Outcome& outcome);

}  // namespace kvasir::app
