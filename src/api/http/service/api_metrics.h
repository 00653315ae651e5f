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
#include "wire/token_event.h"

namespace kvasir::api {

// The tokens that one model's requests read and wrote.
struct ModelMetrics {
  obs::Counter& prompt_tokens;  // those that had to be computed
  obs::Counter& cached_tokens;  // prompt tokens from the prefix cache
  obs::Counter& output_tokens;
  obs::RecentRatio& prefix_hits;         // cached tokens among all tokens of prompts
  obs::Histogram& predicted_ttft_error;  // |predicted - real| / real

  void count_tokens(const wire::Usage& usage);
};

// The requests of one model and one class, as clients see them. Times begin when the request was read.
struct ClassMetrics {
  obs::Histogram& ttft;  // until the first token
  obs::Histogram& tpot;  // mean time of each further token of a request
  obs::Histogram& itl;   // between two tokens
  obs::Histogram& e2e;   // the whole time, of requests that ended well
  obs::Counter& completed;
  obs::Counter& failed;
  obs::Counter& aborted;
  obs::Counter& aborts;  // the same count as `aborted`, as a metric of its own
};

// The totals of one model's requests since the start.
struct ModelTotals {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t aborted = 0;
  std::uint64_t prompt_tokens = 0;  // those that had to be computed
  std::uint64_t cached_tokens = 0;
  std::uint64_t output_tokens = 0;
};

// The API's own part of /metrics. Thread-safe.
class ApiMetrics {
 public:
  // `registry` and `clock` outlive this object.
  ApiMetrics(obs::Registry& registry, const base::Clock& clock);

  // The router must know `model`, and the settings `tier`: clients cannot add rows. References stay valid.
  ModelMetrics& of_model(const std::string& model);
  ClassMetrics& of_class(const std::string& model, const std::string& tier);
  // Counts a request of this tier that never began to run.
  void count_refused(const std::string& tier);
  // The counts of a histogram's ranges, summed over the classes of a model.
  std::vector<std::uint64_t> counts(const std::string& model, obs::Histogram& (*of)(ClassMetrics&));
  // Sums over the classes of a model.
  ModelTotals totals(const std::string& model) const;
  // The ratio of requests of a model and a tier whose promises were kept.
  obs::RecentRatio& goodput(const std::string& model, const std::string& tier);
  // The ratio of good requests in the last minute, by tier; NaN where there was no request.
  std::vector<std::pair<std::string, double>> goodputs(const std::string& model) const;
  void count_request(std::string_view endpoint, int status, base::Duration took);
  // `reason` is the code of the error that the client got.
  void count_refusal(const std::string& reason);
  std::vector<std::pair<std::string, std::uint64_t>> refusals() const;
  std::string exposition(obs::Format format) const;

 private:
  obs::RecentRatio& prefix_hits(const std::lock_guard<std::mutex>& lock, const std::string& model);
  // A ratio and the metrics that show it.
  struct Shown {
    explicit Shown(const base::Clock& clock) : ratio(clock) {}
    obs::RecentRatio ratio;
    std::vector<obs::Observation> observations = {};  // they read the ratio
  };

  // The metrics of one endpoint's answers.
  struct EndpointMetrics {
    obs::Histogram& seconds;
    std::map<int, obs::Counter*> by_status = {};
  };
  EndpointMetrics& of_endpoint(const std::lock_guard<std::mutex>& lock, std::string_view endpoint);

  using ModelAndTier = std::pair<std::string, std::string>;

  obs::Registry& registry_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, obs::Counter*> refusals_;                  // guarded by mutex_
  std::map<std::string, EndpointMetrics, std::less<>> endpoints_;  // guarded by mutex_
  std::map<std::string, ModelMetrics> models_;                     // guarded by mutex_
  std::map<ModelAndTier, ClassMetrics> classes_;                   // guarded by mutex_
  std::map<ModelAndTier, std::unique_ptr<Shown>> goodputs_;        // guarded by mutex_
  std::map<std::string, std::unique_ptr<Shown>> hits_;             // guarded by mutex_
};

}  // namespace kvasir::api
