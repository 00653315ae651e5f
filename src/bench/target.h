#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/workload.h"
#include "net/client_connection.h"

namespace kvasir::bench {

enum class Endpoint { chat, completions };

// Which newer fields a server accepts. The probe finds out.
struct Dialect {
  bool ignore_eos = true;              // makes every answer as long as requested
  bool stream_usage = true;            // stream_options.include_usage
  bool max_completion_tokens = false;  // instead of max_tokens
};

// The server under load, and how to call it. Immutable while a load runs.
struct Target {
  net::Url base;  // without /v1
  std::shared_ptr<const net::Origin> origin;
  Endpoint endpoint = Endpoint::chat;
  std::string model;
  std::string api_key;
  double temperature = 0;
  Dialect dialect;

  std::string base_url() const;
  net::HttpCall get(const std::string& path) const;
  // Returns a request for a streamed answer. For `completions`, the prompt consists of the texts of the
  // messages.
  net::HttpCall ask(const std::vector<Message>& messages, int output_tokens) const;
};

struct TargetOptions {
  std::string url;  // with or without the trailing /v1
  std::string model;
  std::string api_key;
  std::string ca_file;  // certificates that are trusted besides the system's
  Endpoint endpoint = Endpoint::chat;
  double temperature = 0;
  double timeout_s = 300;
};

// Looks up the address. Sends no request yet.
base::Result<Target> open_target(const TargetOptions& options);

}  // namespace kvasir::bench
