#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/json/error_map.h"
#include "api/http/service/api_metrics.h"
#include "api/http/service/request_trace.h"
#include "api/http/wait/busy_count.h"
#include "api/http/wait/endings.h"
#include "api/http/wait/event_log.h"
#include "api/http/wait/late_writes.h"
#include "api/http/wait/lobby.h"
#include "api/http/wait/text_queue.h"
#include "base/clock.h"
#include "fleet/worker_board.h"
#include "meter/meter.h"
#include "net/http_message.h"
#include "net/responder.h"
#include "obs/tracer.h"
#include "router/residence.h"
#include "router/router.h"
#include "sched/caution.h"
#include "store/store.h"
#include "tenancy/admission.h"
#include "tenancy/directory.h"
#include "tenancy/runs.h"
#include "tool/toolbox.h"
#include "upstream/upstreams.h"
#include "wire/token_event.h"

namespace kvasir::api {

// The most sequences that one request may have: prompts times n.
inline constexpr int kMaxSequencesPerRequest = 128;

struct ServiceOptions {
  int max_json_depth = 64;
  std::size_t max_body_bytes = 16 * 1024 * 1024;  // for the text of a compressed body
  std::vector<std::string> cors_origins = {};     // origins whose pages may call; "*": all
  base::Duration ping_interval = std::chrono::seconds(5);
  int num_text_threads = 1;
  std::size_t max_waiting_texts = 512;          // texts that wait for a thread; further requests are refused
  int max_sequences = kMaxSequencesPerRequest;  // of one request
  // If a stream's text is not tokenized after this time, its headers are sent, and later errors become
  // events. Before that, an error is answered with its own HTTP status.
  base::Duration headers_after = std::chrono::milliseconds(100);
  EventLogs::Limits resumable = {};
  int max_tool_rounds = 8;  // per answer; after them the model may make no more calls
  // Models that "auto" uses for easy and hard questions. Empty: the one with the fewest or the most
  // parameters.
  std::string auto_small = {};
  std::string auto_large = {};
  // The tier of callers without a key. If this is empty or returns null, they have no limits. Called by any
  // thread.
  std::function<std::shared_ptr<const tenancy::Tier>()> anonymous_tier = {};
  // Whether requests that would miss their SLO wait or are refused, as their tier says.
  bool admits_by_goodput = true;
  std::size_t max_lobby = 512;  // requests that may wait for that reason
  // The end of an answer waits at most this long for its usage record to be on the disk.
  base::Duration max_commit_wait = std::chrono::milliseconds(50);
  bool log_requests = true;    // writes a line at info for each request
  bool log_prompts = false;    // the line has the beginning of the body
  bool trace_prompts = false;  // the trace has the beginning of the body
};

// The state that all endpoints share. Thread-safe. Outlives every request.
struct Service {
  ServiceOptions options;
  router::Router& router;
  tenancy::Admission& admission;
  ApiMetrics& metrics;
  const base::Clock& clock;
  enum class Draining : std::uint8_t { no, to_stop, to_restart };
  std::atomic<Draining> draining{Draining::no};
  bool drains() const { return draining != Draining::no; }
  // Queues for bodies over kSmallBody. Reading a body takes a few tenths of a second at most, while
  // tokenizing may take many seconds. Since reading has its own threads, a request gets headers or an error
  // even while all tokenizing threads are busy.
  TextQueue reading;
  TextQueue tokenizing;
  TextQueue compiling;  // grammars that are not in their model's cache
  EventLogs streams;    // resumable streams
  store::Store& store;
  tenancy::Directory& directory;
  TextQueue storing;               // the thread for work on the store
  tool::Toolbox* tools = nullptr;  // null: there are none
  meter::Meter& meter;
  sched::Cautions cautions;   // how far to trust forecasts
  Lobby lobby;                // requests that wait until they can be served in time
  tenancy::Runs cancellable;  // running requests and streams by their ids
  LateWrites late_writes;     // ends of answers that the store could not take at first
  BusyCount busy;
  Endings background;          // responses that go on without their clients
  const std::string document;  // the document of all routes, for /openapi.json
  obs::Tracer& tracer;
  router::Residence* residence = nullptr;     // null: models cannot be loaded or unloaded
  upstream::Upstreams* upstreams = nullptr;   // null: there are none
  const fleet::WorkerBoard* fleet = nullptr;  // null: no worker is on another machine
  std::atomic<bool> leaving{false};           // the server will drain soon; /health/ready says so
};

struct Route;

// Pairs of name and value. The names are views of the route's text.
using PathParameters = std::vector<std::pair<std::string_view, std::string>>;

// One request and its answer, on the connection's executor.
struct Exchange {
  net::HttpRequest& request;
  net::Responder& responder;
  std::string id;                                 // in the x-request-id header
  tenancy::Caller caller;                         // anonymous until the key has been checked
  const tenancy::Admission* admission = nullptr;  // knows the caller's limits; null: the route has none
  std::string_view endpoint = {};                 // the route's path; empty until the key has been checked
  const Route* route = nullptr;                   // null until the key has been checked
  PathParameters path_parameters = {};
  ErrorStyle errors = ErrorStyle::openai;
  std::size_t num_body_bytes = 0;  // set once the body is read
  int status = 0;                  // of the answer; 0 until one is sent
  // Filled in as the request proceeds, mostly for the log.
  std::string model;
  std::vector<net::HttpHeader> headers;  // added to every answer
  wire::Usage usage;
  std::string error;                              // the error's code, or "failed" if it has none
  std::shared_ptr<RequestTrace> trace = nullptr;  // never null once the request is handled

  // A parameter of the path; never empty. Asking for one that the route does not have is a bug.
  const std::string& parameter(std::string_view name) const;
};

// Sends the response. If unsent answers leave no memory for it, it sends a 503 instead.
boost::asio::awaitable<void> reply(Exchange& exchange, net::HttpResponse response);
// Begins an answer whose body has `num_bytes` and follows in pieces.
boost::asio::awaitable<base::Result<net::BodyWriter*>> start_body(Exchange& exchange, net::HttpResponse head,
                                                                  std::uint64_t num_bytes);
boost::asio::awaitable<void> reply_error(Exchange& exchange, base::Error error);
void note_error(Exchange& exchange, const base::Error& error);
// The error for a request that arrives or waits while the server drains.
base::Error draining_error(const Service& service);
// The error for an answer that gets no memory because slow readers' answers hold it all.
base::Error answers_overloaded();

// Larger bodies go to another thread. A body of this size takes about a millisecond to parse and tokenize.
inline constexpr std::size_t kSmallBody = 8 * 1024;

}  // namespace kvasir::api
