#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "bench/engine_bench.h"
#include "bench/machine.h"

namespace kvasir::bench {

// A whole `kvasir bench engine`.
struct EngineReport {
  Machine machine;
  std::string isa;  // that the kernels use
  ModelLoad load;
  double load_s = 0;  // from the file to a decoder that can run
  EngineFigures figures;
};

std::string engine_table(const EngineReport& report);
boost::json::object engine_json(const EngineReport& report);

}  // namespace kvasir::bench
