#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "obs/metric.h"
#include "obs/recent_ratio.h"
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
  obs::Histogram& request_seconds;       // of requests that ended well
  obs::Histogram& predicted_ttft_error;  // |predicted - real| / real
};

// The API's own part of /metrics. Thread-safe.
class ApiMetrics {
 public:
  // Both outlive it.
  ApiMetrics(obs::Registry& registry, const base::Clock& clock);

  // `model` must be one that the router knows, so that clients cannot add rows. The reference stays valid.
  ModelMetrics& of_model(const std::string& model);
  // Which requests of a model and a tier kept what they were promised. The tier is one of the settings', so
  // that the rows are few.
  obs::RecentRatio& goodput(const std::string& model, const std::string& tier);
  // The part of the requests of the last minute that were good, by tier; NaN where there was none.
  std::vector<std::pair<std::string, double>> goodputs(const std::string& model) const;
  void count_request(std::string_view endpoint, int status, base::Duration took);
  // `reason` is the code of the error that a client was told.
  void count_refusal(const std::string& reason);
  std::vector<std::pair<std::string, std::uint64_t>> refusals() const;
  std::string exposition() const;

 private:
  struct Goodput {
    explicit Goodput(const base::Clock& clock) : ratio(clock) {}
    obs::RecentRatio ratio;
    std::vector<obs::Observation> observations = {};  // they read the ratio
  };

  obs::Registry& registry_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, obs::Counter*> refusals_;                                     // guarded by mutex_
  std::map<std::string, ModelMetrics> models_;                                        // guarded by mutex_
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Goodput>> goodputs_;  // guarded by mutex_
};

}  // namespace kvasir::api
