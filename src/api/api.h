#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/api_metrics.h"
#include "api/http/service.h"
#include "base/clock.h"
#include "net/http_server.h"
#include "router/router.h"
#include "store/store.h"
#include "tenancy/admission.h"
#include "tenancy/directory.h"
#include "tool/toolbox.h"

namespace kvasir::api {

class BatchRunner;

// The public HTTP API: what the server's handler does. Thread-safe. Outlives the server that it answers for.
class Api {
 public:
  struct Parts {
    router::Router& router;
    tenancy::Admission& admission;
    obs::Registry& registry;
    const base::Clock& clock;
    store::Store& store;
    tenancy::Directory& directory;
    tool::Toolbox* tools = nullptr;  // null: none
  };

  Api(ServiceOptions options, Parts parts);
  ~Api();

  net::Handler handler();
  // How the server answers what never reaches the handler.
  using Refusal = std::function<net::HttpResponse(const net::RefusedRequest&)>;
  static Refusal refusal(ServiceOptions options);
  // Why a request is not taken, by who its head says is asking; nothing: it is. Before its body is read.
  static std::optional<net::RefusedRequest> refuse_caller(const tenancy::Directory& directory,
                                                          const net::HttpRequest& head);

  enum class Drain { stop, restart };
  // From now on whatever would start something new is refused with 503, which says why; what runs goes on.
  void drain(Drain why = Drain::stop);
  // Requests inside an endpoint that generates or tokenizes.
  int num_busy() const;
  // Blocks until there are none, at most so long. False: some are.
  bool wait_idle(base::Duration at_most);
  // Drops the text that waits to be worked on, and ends what is being worked on. Before the server stops, so
  // that nothing returns to it later.
  void stop_text_work();
  // Refuses what is not yet with the store and waits for what is. After the last handler, before the server
  // stops.
  void stop_storing();
  // Leaves the batches where they are; before the engines stop.
  void stop_batches();
  // The threads that large texts wait for.
  TextQueue& tokenizing() { return service_.tokenizing; }
  // The thread that grammars wait for.
  TextQueue& compiling() { return service_.compiling; }

 private:
  class Busy;
  boost::asio::awaitable<void> handle(net::HttpRequest& request, net::Responder& responder);
  void finish(const Exchange& exchange, std::string_view endpoint, base::Duration took);

  ApiMetrics metrics_;
  Service service_;
  std::atomic<bool> restarting_{false};
  std::unique_ptr<BatchRunner> batches_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int num_busy_ = 0;  // guarded by mutex_
};

}  // namespace kvasir::api
