#include "api/http/api_metrics.h"

namespace kvasir::api {

ApiMetrics::ApiMetrics(obs::Registry& registry) : registry_(registry) {}

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
  };
  return models_.emplace(model, metrics).first->second;
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

std::string ApiMetrics::exposition() const {
  return registry_.text();
}

}  // namespace kvasir::api
