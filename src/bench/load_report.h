#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/load_generator.h"
#include "bench/load_summary.h"

namespace kvasir::bench {

// The report of `kvasir bench serve`.
struct LoadReport {
  std::string url;
  std::string endpoint;
  std::string model;
  std::string workload;  // the workload's name, or the trace's file
  int input_tokens = 0;
  int output_tokens = 0;
  std::uint64_t seed = 0;
  Slo slo;
  std::vector<std::string> notes;
  std::string started;  // the date and time, for people
  std::vector<PhaseSummary> phases;
  std::vector<PhaseRun> runs;  // the runs of these phases, for the plots
};

// Returns the report for a terminal: one row per phase, then the failures.
std::string load_table(const LoadReport& report);
boost::json::object load_json(const LoadReport& report);
// Returns a self-contained HTML page with tables, plots and the JSON.
std::string load_html(const LoadReport& report);

}  // namespace kvasir::bench
