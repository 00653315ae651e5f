#pragma once

#include <optional>
#include <string_view>

namespace kvasir::upstream {

// The number of requests that a server runs or keeps waiting, from its /metrics in Prometheus's format.
// Absent: the metrics are not of a known server (vLLM, SGLang, llama.cpp, Kvasir).
std::optional<int> reported_load(std::string_view metrics);

}  // namespace kvasir::upstream
