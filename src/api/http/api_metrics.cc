#include "api/http/api_metrics.h"

namespace kvasir::api {

ApiMetrics::ApiMetrics(obs::Registry& registry, const base::Clock& clock)
    : registry_(registry), clock_(clock) {}

ModelMetrics& ApiMetrics::of_model(const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (const auto it = models_.find(model); it != models_.end()) return it->second;
  const obs::Labels labels = {{"model", model}};
  const auto counter = [&](const char* name, const char* help) -> obs::Counter& {
    return registry_.counter({name, help}, labels);
  };
  const auto histogram = [&](const char* name, const char* help) -> obs::Histogram& {
    return registry_.histogram({name, help}, obs::latency_bounds(), labels);
  };
  ModelMetrics metrics{
      counter("kvasir_prompt_tokens_total", "Tokens of prompts that were taken."),
      counter("kvasir_cached_tokens_total", "Tokens of prompts that were taken from the prefix cache."),
      counter("kvasir_output_tokens_total", "Tokens generated for clients."),
      counter("kvasir_requests_aborted_total", "Requests whose client left before the end."),
      histogram("kvasir_time_to_first_token_seconds", "From admission to the first token."),
      histogram("kvasir_inter_token_seconds", "Between two tokens of one sequence."),
      histogram("kvasir_generation_seconds", "From admission to the end of an answer."),
      registry_.histogram({"llm_predicted_ttft_error_ratio",
                           "How far the time to the first token was from its prediction, as a part of it."},
                          {0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10}, labels),
  };
  return models_.emplace(model, metrics).first->second;
}

obs::RecentRatio& ApiMetrics::goodput(const std::string& model, const std::string& tier) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Goodput>& goodput = goodputs_[{model, tier}];
  if (goodput) return goodput->ratio;
  goodput = std::make_unique<Goodput>(clock_);
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

void ApiMetrics::count_request(std::string_view endpoint, int status, base::Duration took) {
  const std::string name(endpoint);
  registry_
      .counter({"kvasir_http_requests_total", "Answers by endpoint and status; 499: the client left."},
               {{"endpoint", name}, {"status", std::to_string(status)}})
      .add();
  registry_
      .histogram({"kvasir_http_request_seconds", "From the end of a request to the end of its answer."},
                 obs::latency_bounds(), {{"endpoint", name}})
      .observe(base::seconds(took));
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
    counter = &registry_.counter(
        {"kvasir_requests_refused_total", "Requests that were answered with an error, by its code."},
        {{"reason", reason}});
  counter->add();
}

std::vector<std::pair<std::string, std::uint64_t>> ApiMetrics::refusals() const {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [reason, counter] : refusals_) all.emplace_back(reason, counter->value());
  return all;
}

std::string ApiMetrics::exposition() const {
  return registry_.text();
}

}  // namespace kvasir::api
