#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/answer/run/generation.h"
#include "api/http/service/service.h"
#include "store/batches.h"

namespace kvasir::api {

// Works on a few batches at once, one of each tenant, so that lines that wait for their tenant's limits hold
// up nobody else; and on a few lines of each, with lower priority than all other requests. A thread of its
// own does everything, including waiting for the store. If the store fails, the batch is tried again after a
// pause. When the process ends, finished lines are kept; the next process that opens the store does the rest.
class BatchRunner {
 public:
  // `service` outlives the runner, which does nothing before `start`.
  BatchRunner(Service& service, int max_in_flight);
  ~BatchRunner();
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  void start();
  // Leaves running lines unfinished and joins the thread. Thread-safe. Call it before the engines stop.
  void stop();

 private:
  struct Progress;

  boost::asio::awaitable<void> run();
  // A batch of this process. If the store failed, `again` says when to retry.
  struct Attempt {
    store::Batch batch;
    base::TimePoint again = {};
    base::Duration pause = std::chrono::seconds(1);
  };
  // A batch whose retry is due, or one that nobody works on yet, of a tenant who has none running.
  std::optional<Attempt> next_attempt();
  std::optional<Attempt> due_attempt();
  boost::asio::awaitable<void> run_batch(Attempt attempt);
  void take_up_later(Attempt attempt);
  // False if the store failed before the batch was over.
  boost::asio::awaitable<bool> work_on(store::Batch batch);
  bool finish(const store::Key& key, store::BatchStatus status);
  base::Status validate(const store::Batch& batch);
  boost::asio::awaitable<void> run_lines(const store::Batch& batch);
  boost::asio::awaitable<void> run_line(std::shared_ptr<Progress> progress, store::BatchLine line);
  // A pause that ends early once it is roused, before it begins or in it.
  struct Pause {
    explicit Pause(boost::asio::io_context& context) : timer(context) {}
    void rouse();
    boost::asio::awaitable<void> wait(base::Duration at_most);
    boost::asio::steady_timer timer;
    bool roused = false;
  };
  bool cancelled(const store::Batch& batch);

  Service& service_;
  const int max_in_flight_;
  boost::asio::io_context context_{1};
  std::atomic<bool> stopping_{false};
  // Touched on the runner's thread only.
  Pause pause_{context_};                       // of the one who looks for batches
  std::map<std::string, Progress*> under_way_;  // by tenant; null while no lines run
  std::vector<Attempt> waiting_;                // for their retry, or for a batch of the same tenant
  std::thread thread_;
};

}  // namespace kvasir::api
