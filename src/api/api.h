#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/service/api_metrics.h"
#include "api/http/service/service.h"
#include "base/clock.h"
#include "fleet/worker_board.h"
#include "meter/meter.h"
#include "net/http_server.h"
#include "router/residence.h"
#include "router/router.h"
#include "store/store.h"
#include "tenancy/admission.h"
#include "tenancy/directory.h"
#include "tool/toolbox.h"
#include "upstream/upstreams.h"

namespace kvasir::api {

class BatchRunner;
struct Route;

// The public HTTP API. Its handler answers the server's requests. Thread-safe. It must outlive the server.
class Api {
 public:
  struct Parts {
    router::Router& router;
    tenancy::Admission& admission;
    obs::Registry& registry;
    const base::Clock& clock;
    store::Store& store;
    tenancy::Directory& directory;
    meter::Meter& meter;
    tool::Toolbox* tools = nullptr;  // null: none
    obs::Tracer& tracer = obs::no_tracer();
    router::Residence* residence = nullptr;     // null: models cannot be loaded or unloaded
    upstream::Upstreams* upstreams = nullptr;   // null: there are none
    const fleet::WorkerBoard* fleet = nullptr;  // null: no worker is on another machine
  };

  Api(ServiceOptions options, Parts parts);
  ~Api();

  net::Handler handler();
  // Makes the answers to requests that never reach the handler.
  using Refusal = std::function<net::HttpResponse(const net::RefusedRequest&)>;
  static Refusal refusal(ServiceOptions options);
  // Judges by the request's head, before its body is read, whether the caller may ask. Absent: it may.
  static std::optional<net::RefusedRequest> refuse_caller(const tenancy::Directory& directory,
                                                          const net::HttpRequest& head);

  // From now on /health/ready says that the server drains. Everything else goes on.
  void announce_drain() { service_.leaving = true; }
  enum class Drain { stop, restart };
  // Refuses new work with a 503 that says why. Running requests go on.
  void drain(Drain why = Drain::stop);
  // Requests inside an endpoint that generates or tokenizes, and responses in the background.
  int num_busy() const;
  // Blocks until no request is busy, for at most `at_most`. Returns false if some requests are still busy.
  bool wait_idle(base::Duration at_most);
  // Drops waiting text work and stops running text work. Call it before the server stops, so that nothing
  // returns to the server later.
  void stop_text_work();
  // Refuses store work that has not begun and waits for the rest. After this, no answer waits for the meter.
  // Call it after the last handler and before the server stops.
  void stop_storing();
  // Begins to work on the batches in the store. Call it once, when the router knows the names of all models.
  void start_batches();
  // Stops working on batches, which stay in the store. Call it before the engines stop.
  void stop_batches();
  // The number of requests that wait until they can be served in time.
  std::size_t num_in_lobby() const { return service_.lobby.num_waiting(); }
  // The threads that tokenize large texts.
  TextQueue& tokenizing() { return service_.tokenizing; }
  // The thread that compiles grammars.
  TextQueue& compiling() { return service_.compiling; }

 private:
  boost::asio::awaitable<void> handle(net::HttpRequest& request, net::Responder& responder);
  boost::asio::awaitable<void> handle_route(Exchange& exchange, const Route& route);
  // `route` is null if the path has none.
  void finish(Exchange& exchange, const Route* route, base::Duration took);

  ApiMetrics metrics_;
  Service service_;
  const std::vector<obs::Observation> observations_;  // of the service's state
  std::unique_ptr<BatchRunner> batches_;
};

}  // namespace kvasir::api
