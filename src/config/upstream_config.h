#pragma once

#include <string>

namespace kvasir::config {

// One `[[upstream]]` entry of the settings file: another OpenAI-compatible server that answers for a model.
// The key itself is not here, only where it is.
struct UpstreamConfig {
  std::string name;         // of the model, as clients here ask for it
  std::string label;        // of the upstream, in errors, metrics and the log
  std::string url;          // as OpenAI's clients take it: "http://host:8000/v1"
  std::string model;        // its name there
  std::string api_key_env;  // the environment variable that has the key
  std::string api_key_file;
  std::string ca_file;      // trusted besides the system's store
  std::string health_path;  // empty: /health, or else /v1/models
  std::string max_tokens_field = "max_tokens";
  double connect_timeout_s = 5;
  double first_token_timeout_s = 300;
  double read_timeout_s = 60;  // between two events of an answer
  double check_interval_s = 5;
  double weight = 1;       // its share of the requests, relative to others of the name
  int max_in_flight = 64;  // requests
  int context_length = 0;  // tokens; 0: what it says itself
};

}  // namespace kvasir::config
