#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/api_metrics.h"
#include "api/http/error_map.h"
#include "api/http/event_log.h"
#include "api/http/late_writes.h"
#include "api/http/text_queue.h"
#include "base/clock.h"
#include "net/http_message.h"
#include "net/responder.h"
#include "router/router.h"
#include "store/store.h"
#include "tenancy/admission.h"
#include "tenancy/directory.h"
#include "tool/toolbox.h"
#include "wire/token_event.h"

namespace kvasir::api {

// Sequences of one request: prompts times n.
inline constexpr int kMaxSequencesPerRequest = 128;

struct ServiceOptions {
  int max_json_depth = 64;
  std::vector<std::string> cors_origins = {};  // whose pages may ask; "*": anybody's
  base::Duration ping_interval = std::chrono::seconds(5);
  int num_text_threads = 1;
  std::size_t max_waiting_texts = 512;          // requests that wait for a text thread; one more is refused
  int max_sequences = kMaxSequencesPerRequest;  // of one request
  // A stream whose text is not tokenized by then gets its headers, and errors become events. Until then an
  // error has its proper status.
  base::Duration headers_after = std::chrono::milliseconds(100);
  EventLogs::Limits resumable = {};
  int max_tool_rounds = 8;  // of one answer, after which the model may call no more
};

// What the endpoints share. Thread-safe; outlives every request.
struct Service {
  ServiceOptions options;
  router::Router& router;
  tenancy::Admission& admission;
  ApiMetrics& metrics;
  const base::Clock& clock;
  std::atomic<bool> draining{false};
  // For bodies over kSmallBody. Reading one takes some tenths of a second at the most, tokenizing it may take
  // many; so a request is read, and answered with headers or an error, while others' texts keep all the
  // tokenizing threads busy.
  TextQueue reading;
  TextQueue tokenizing;
  TextQueue compiling;  // grammars that are not in their model's cache
  EventLogs streams;    // that can be resumed
  store::Store& store;
  tenancy::Directory& directory;
  TextQueue storing;               // what has to do with the store
  tool::Toolbox* tools = nullptr;  // null: there are none
  LateWrites late_writes;          // the ends of answers that the store did not take at first
  const std::string document;      // of all routes, for /openapi.json
};

// Names and values; the names are the route's.
using PathParameters = std::vector<std::pair<std::string_view, std::string>>;

// One request and its answer, on the connection's executor.
struct Exchange {
  net::HttpRequest& request;
  net::Responder& responder;
  std::string id;          // in the x-request-id header
  tenancy::Caller caller;  // known from the headers on
  PathParameters path_parameters = {};
  ErrorStyle errors = ErrorStyle::openai;
  std::size_t num_body_bytes = 0;  // once the body was read
  int status = 0;                  // of the answer, once there is one
  // For the log, as far as the request came.
  std::string model;
  std::vector<net::HttpHeader> headers;  // of the answer, besides its own
  wire::Usage usage;
  std::string error;  // its code, or "failed" where it has none

  // Of the path; never empty. Asking for one that the route has not is a bug.
  const std::string& parameter(std::string_view name) const;
};

// One for which all answers together leave no room becomes a 503.
boost::asio::awaitable<void> reply(Exchange& exchange, net::HttpResponse response);
// Begins an answer whose body of `num_bytes` follows in pieces.
boost::asio::awaitable<base::Result<net::BodyWriter*>> start_body(Exchange& exchange, net::HttpResponse head,
                                                                  std::uint64_t num_bytes);
boost::asio::awaitable<void> reply_error(Exchange& exchange, base::Error error);
void note_error(Exchange& exchange, const base::Error& error);
// Answers that wait for their readers leave no room for another.
base::Error answers_overloaded();

// Larger than this is worth a hop to another thread: about a millisecond of parsing and tokenizing.
inline constexpr std::size_t kSmallBody = 8 * 1024;

}  // namespace kvasir::api
