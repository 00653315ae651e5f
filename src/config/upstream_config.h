#pragma once

#include <string>

namespace kvasir::config {

// One `[[upstream]]` entry of the settings file: another OpenAI-compatible server that answers for a model.
// It holds no key, only the place of the key.
struct UpstreamConfig {
  std::string name;         // of the model, as this server's clients ask for it
  std::string label;        // of the upstream, for errors, metrics and the log
  std::string url;          // in the form of OpenAI's clients: "http://host:8000/v1"
  std::string model;        // the model's name on the upstream
  std::string api_key_env;  // the environment variable that has the key
  std::string api_key_file;
  std::string ca_file;      // trusted in addition to the system's store
  std::string health_path;  // empty: /health, or /v1/models if there is none
  std::string max_tokens_field = "max_tokens";
  double connect_timeout_s = 5;
  double first_token_timeout_s = 300;
  double read_timeout_s = 60;  // between two events of an answer
  double check_interval_s = 5;
  double weight = 1;       // its share of the requests, relative to other upstreams of the model
  int max_in_flight = 64;  // requests
  int context_length = 0;  // tokens; 0: the upstream's own statement
};

}  // namespace kvasir::config
