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

// Works on a few batches at once, with lower priority than all other requests, and on a few lines of each. At
// most one batch of each tenant runs, so that lines that wait for their tenant's limits delay no other
// tenant. One thread of its own does everything, including waiting for the store. If the store fails, the
// batch is tried again after a pause. When the process ends, finished lines are kept; the next process that
// opens the store does the rest.
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
  // A batch that this process has taken. If the store failed, `again` is when to retry.
  struct Attempt {
    store::Batch batch;
    base::TimePoint again = {};
    base::Duration pause = std::chrono::seconds(1);
  };
  // A batch whose retry is due, or one that no process works on yet, of a tenant without a running batch.
  std::optional<Attempt> next_attempt();
  std::optional<Attempt> due_attempt();
  boost::asio::awaitable<void> run_batch(Attempt attempt);
  void take_up_later(Attempt attempt);
  // Returns false if the store failed before the batch was over.
  boost::asio::awaitable<bool> work_on(store::Batch batch);
  bool finish(const store::Key& key, store::BatchStatus status);
  base::Status validate(const store::Batch& batch);
  boost::asio::awaitable<void> run_lines(const store::Batch& batch);
  boost::asio::awaitable<void> run_line(std::shared_ptr<Progress> progress, store::BatchLine line);
  // A pause that ends early when `rouse` is called, during the pause or before it begins.
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
  // The members below are touched on the runner's thread only.
  Pause pause_{context_};                       // between two looks for batches
  std::map<std::string, Progress*> under_way_;  // by tenant; null while no lines run
  std::vector<Attempt> waiting_;                // for a retry, or for a batch of the same tenant
  std::thread thread_;
};

}  // namespace kvasir::api
