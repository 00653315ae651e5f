#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "obs/trace.h"

namespace kvasir::api {

// Facts that are found out about a request while it runs, for its trace and its log line. Shared by
// everything that works for the request, on its executor.
struct RequestTrace {
  explicit RequestTrace(std::shared_ptr<obs::Trace> spans_in) : spans(std::move(spans_in)) {}

  const std::shared_ptr<obs::Trace> spans;  // never null
  std::string_view operation = "chat";      // OpenTelemetry's name for the kind of generation
  std::optional<std::int64_t> ttft_ms = std::nullopt;
  std::string_view finish = {};                // empty: nothing was generated
  std::optional<bool> met_slo = std::nullopt;  // absent: the request had no SLO
  std::string body = {};                       // the body's beginning, if the settings ask for it
};

}  // namespace kvasir::api
