#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "obs/metric.h"
#include "obs/registry.h"

namespace kvasir::api {

// Token counts and latencies of one model's requests, as clients see them.
struct ModelMetrics {
  obs::Counter& prompt_tokens;
  obs::Counter& cached_tokens;
  obs::Counter& output_tokens;
  obs::Counter& aborted;  // the client left before the end
  obs::Histogram& first_token_seconds;
  obs::Histogram& inter_token_seconds;
  obs::Histogram& request_seconds;  // of requests that ended well
};

// The API's own part of /metrics. Thread-safe.
class ApiMetrics {
 public:
  explicit ApiMetrics(obs::Registry& registry);

  // `model` must be one that the router knows, so that clients cannot add rows. The reference stays valid.
  ModelMetrics& of_model(const std::string& model);
  void count_request(std::string_view endpoint, int status, base::Duration took);
  std::string exposition() const;

 private:
  obs::Registry& registry_;
  std::mutex mutex_;
  std::map<std::string, ModelMetrics> models_;  // guarded by mutex_
};

}  // namespace kvasir::api
