#pragma once

#include <optional>
#include <string_view>

namespace kvasir::upstream {

// Requests that a server runs or keeps waiting, by its /metrics in Prometheus's format. Nothing: they are not
// those of a server that is known (vLLM, SGLang, llama.cpp, Kvasir).
std::optional<int> reported_load(std::string_view metrics);

}  // namespace kvasir::upstream
