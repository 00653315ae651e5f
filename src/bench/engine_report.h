#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "bench/engine_bench.h"
#include "bench/machine.h"

namespace kvasir::bench {

// The report of `kvasir bench engine`.
struct EngineReport {
  Machine machine;
  std::string isa;  // instruction set of the kernels
  ModelLoad load;
  double load_s = 0;  // from the file to a usable decoder
  EngineFigures figures;
};

std::string engine_table(const EngineReport& report);
boost::json::object engine_json(const EngineReport& report);

}  // namespace kvasir::bench
