#include "api/http/service/api_metrics.h"

namespace kvasir::api {

namespace {

constexpr const char* kRequests = "llm_requests_total";
constexpr const char* kRequestsHelp = "Requests that asked for a model's work, by how they ended.";

}  // namespace

ApiMetrics::ApiMetrics(obs::Registry& registry, const base::Clock& clock)
    : registry_(registry), clock_(clock) {}

void ModelMetrics::count_tokens(const wire::Usage& usage) {
  prompt_tokens.add(static_cast<std::uint64_t>(usage.prompt_tokens - usage.cached_tokens));
  cached_tokens.add(static_cast<std::uint64_t>(usage.cached_tokens));
  output_tokens.add(static_cast<std::uint64_t>(usage.output_tokens));
  if (usage.prompt_tokens > 0) prefix_hits.count(usage.cached_tokens, usage.prompt_tokens);
}

ModelMetrics& ApiMetrics::of_model(const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (const auto it = models_.find(model); it != models_.end()) return it->second;
  const auto tokens = [&](const char* kind) -> obs::Counter& {
    return registry_.counter({"llm_tokens_total",
                              "Tokens of requests: prompt ones that were computed, prompt ones that were "
                              "cached, and output."},
                             {{"model", model}, {"kind", kind}});
  };
  ModelMetrics metrics{
      tokens("prompt"),
      tokens("cached"),
      tokens("output"),
      prefix_hits(lock, model),
      registry_.histogram({"llm_predicted_ttft_error_ratio",
                           "How far the time to the first token was from its prediction, as a part of it."},
                          {0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10}, {{"model", model}}),
  };
  return models_.emplace(model, metrics).first->second;
}

obs::RecentRatio& ApiMetrics::prefix_hits(const std::lock_guard<std::mutex>&, const std::string& model) {
  std::unique_ptr<Shown>& hits = hits_[model];
  hits = std::make_unique<Shown>(clock_);
  hits->observations.push_back(registry_.observe_gauge(
      {"llm_prefix_cache_hit_rate",
       "Of the tokens of prompts of the last five minutes, the part that came from the prefix cache."},
      {{"model", model}}, [&ratio = hits->ratio] { return ratio.ratio(obs::RecentRatio::kLongest); }));
  return hits->ratio;
}

ClassMetrics& ApiMetrics::of_class(const std::string& model, const std::string& tier) {
  const std::lock_guard lock(mutex_);
  if (const auto it = classes_.find({model, tier}); it != classes_.end()) return it->second;
  const obs::Labels labels = {{"model", model}, {"class", tier}};
  const auto histogram = [&](const char* name, const char* help) -> obs::Histogram& {
    return registry_.histogram({name, help}, obs::latency_bounds(), labels);
  };
  const auto requests = [&](const char* outcome) -> obs::Counter& {
    obs::Labels all = labels;
    all.emplace_back("outcome", outcome);
    return registry_.counter({kRequests, kRequestsHelp}, all);
  };
  ClassMetrics metrics{
      histogram("llm_ttft_seconds", "From the arrival of a request to its first token."),
      histogram("llm_tpot_seconds", "Mean time of a token after the first one, of each request."),
      histogram("llm_itl_seconds", "Between two tokens of one answer."),
      histogram("llm_e2e_seconds", "From the arrival of a request to its end, of those that ended well."),
      requests("completed"),
      requests("failed"),
      requests("aborted"),
      registry_.counter({"llm_request_aborts_total", "Requests that were given up before their end."},
                        labels),
  };
  return classes_.emplace(ModelAndTier(model, tier), metrics).first->second;
}

void ApiMetrics::count_refused(const std::string& tier) {
  registry_.counter({kRequests, kRequestsHelp}, {{"class", tier}, {"outcome", "refused"}}).add();
}

std::vector<std::uint64_t> ApiMetrics::counts(const std::string& model,
                                              obs::Histogram& (*of)(ClassMetrics&)) {
  std::vector<std::uint64_t> sums(obs::latency_bounds().size() + 1);
  const std::lock_guard lock(mutex_);
  for (auto& [name, metrics] : classes_) {
    if (name.first != model) continue;
    const std::vector<std::uint64_t> own = of(metrics).counts();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own[i];
  }
  return sums;
}

ModelTotals ApiMetrics::totals(const std::string& model) const {
  ModelTotals totals;
  const std::lock_guard lock(mutex_);
  if (const auto it = models_.find(model); it != models_.end()) {
    totals.prompt_tokens = it->second.prompt_tokens.value();
    totals.cached_tokens = it->second.cached_tokens.value();
    totals.output_tokens = it->second.output_tokens.value();
  }
  for (const auto& [name, metrics] : classes_) {
    if (name.first != model) continue;
    totals.completed += metrics.completed.value();
    totals.failed += metrics.failed.value();
    totals.aborted += metrics.aborted.value();
  }
  return totals;
}

obs::RecentRatio& ApiMetrics::goodput(const std::string& model, const std::string& tier) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Shown>& goodput = goodputs_[{model, tier}];
  if (goodput) return goodput->ratio;
  goodput = std::make_unique<Shown>(clock_);
  const auto show = [&](const char* label, base::Duration window) {
    goodput->observations.push_back(registry_.observe_gauge(
        {"llm_goodput_ratio", "Of the requests that ended lately, the part that met both of its SLOs."},
        {{"model", model}, {"class", tier}, {"window", label}},
        [&ratio = goodput->ratio, window] { return ratio.ratio(window); }));
  };
  show("1m", std::chrono::minutes(1));
  show("5m", std::chrono::minutes(5));
  return goodput->ratio;
}

ApiMetrics::EndpointMetrics& ApiMetrics::of_endpoint(const std::lock_guard<std::mutex>&,
                                                     std::string_view endpoint) {
  if (const auto it = endpoints_.find(endpoint); it != endpoints_.end()) return it->second;
  const std::string name(endpoint);
  obs::Histogram& seconds = registry_.histogram(
      {"kvasir_http_request_seconds", "From the end of a request to the end of its answer."},
      obs::latency_bounds(), {{"endpoint", name}});
  return endpoints_.emplace(name, EndpointMetrics{seconds}).first->second;
}

void ApiMetrics::count_request(std::string_view endpoint, int status, base::Duration took) {
  const std::lock_guard lock(mutex_);
  EndpointMetrics& metrics = of_endpoint(lock, endpoint);
  obs::Counter*& counter = metrics.by_status[status];
  if (counter == nullptr)
    counter = &registry_.counter(
        {"kvasir_http_requests_total", "Answers by endpoint and status; 499: the client left."},
        {{"endpoint", std::string(endpoint)}, {"status", std::to_string(status)}});
  counter->add();
  metrics.seconds.observe(base::seconds(took));
}

std::vector<std::pair<std::string, double>> ApiMetrics::goodputs(const std::string& model) const {
  std::vector<std::pair<std::string, double>> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, goodput] : goodputs_)
    if (name.first == model) found.emplace_back(name.second, goodput->ratio.ratio(std::chrono::minutes(1)));
  return found;
}

void ApiMetrics::count_refusal(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  obs::Counter*& counter = refusals_[reason];
  if (counter == nullptr)
    counter =
        &registry_.counter({"llm_refusals_total", "Requests that were answered with an error, by its code."},
                           {{"reason", reason}});
  counter->add();
}

std::vector<std::pair<std::string, std::uint64_t>> ApiMetrics::refusals() const {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [reason, counter] : refusals_) all.emplace_back(reason, counter->value());
  return all;
}

std::string ApiMetrics::exposition(obs::Format format) const {
  return registry_.text(format);
}

}  // namespace kvasir::api
