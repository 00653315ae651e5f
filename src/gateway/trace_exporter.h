#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "net/http_client.h"
#include "obs/otlp.h"
#include "obs/registry.h"
#include "obs/tracer.h"

namespace kvasir::gateway {

// Sends the tracer's traces to a collector by OTLP over HTTP, on its own thread, so that no request waits for
// it. A batch that the collector does not accept is sent again after growing pauses, then dropped and
// counted. Meanwhile further traces wait in the tracer's bounded queue.
class TraceExporter {
 public:
  enum class Protocol : std::uint8_t { json, protobuf };
  struct Options {
    net::Url url;
    Protocol protocol = Protocol::protobuf;
    std::vector<net::HttpHeader> headers;  // may be secrets
    obs::TraceSource source;
    std::chrono::milliseconds first_pause{1000};
    std::chrono::milliseconds max_flush{2000};  // at the end
  };

  // The tracer and the registry outlive it.
  TraceExporter(Options options, obs::Tracer& tracer, obs::Registry& registry);
  ~TraceExporter() { stop(); }
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  // Sends the waiting traces once, within a bounded time. May be called twice.
  void stop();

 private:
  enum class Sent : std::uint8_t { yes, no, later };
  // How one attempt ended, and for how long the collector wants no more.
  struct Attempt {
    Sent sent = Sent::no;
    std::chrono::milliseconds pause{0};
    std::string problem;
  };

  void loop();
  void send(const std::vector<obs::FinishedTrace>& batch);
  Attempt attempt(const net::HttpCall& call) const;
  // False: the exporter is stopping, so there is no time for another attempt.
  bool pause(std::chrono::milliseconds duration);
  void complain(const std::string& problem, std::size_t num_spans);

  const Options options_;
  obs::Tracer& tracer_;
  const net::HttpClient client_;
  std::vector<obs::Observation> observations_;
  std::stop_source given_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                                            // guarded by mutex_
  bool ended_ = false;                                               // guarded by mutex_
  std::optional<std::chrono::steady_clock::time_point> complained_;  // touched by the thread only
  std::thread thread_;
};

// Absent if the settings name no receiver. invalid_argument: its address is not valid.
base::Result<std::optional<TraceExporter::Options>> trace_options(const config::Settings& settings);

}  // namespace kvasir::gateway
