#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/answer/generation.h"
#include "api/http/service.h"
#include "store/batches.h"

namespace kvasir::api {

// Works on batches, one at a time, a few of its lines at once, after everybody else's requests. A thread of
// its own does all of it, waiting for the store included. A batch for which the store failed is taken up
// again after a pause, which keeps no other waiting. What was finished when the process ends is kept; the
// rest is taken up by whoever opens the store next.
class BatchRunner {
 public:
  // The service outlives it.
  BatchRunner(Service& service, int max_in_flight);
  ~BatchRunner();
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  // Leaves what runs unfinished and waits for the thread. Thread-safe; before the engines' last readers go.
  void stop();

 private:
  struct Progress;

  boost::asio::awaitable<void> run();
  // A batch that this process works on, and when to take it up again where the store failed.
  struct Attempt {
    store::Batch batch;
    base::TimePoint again = {};
    base::Duration pause = std::chrono::seconds(1);
  };
  // One whose time has come, or one that nobody works on yet.
  std::optional<Attempt> next_attempt();
  void take_up_later(Attempt attempt);
  // False: the store failed, and the batch is not over.
  boost::asio::awaitable<bool> work_on(store::Batch batch);
  bool finish(const store::Key& key, store::BatchStatus status);
  base::Status validate(const store::Batch& batch);
  boost::asio::awaitable<void> run_lines(const store::Batch& batch);
  boost::asio::awaitable<void> run_line(std::shared_ptr<Progress> progress, store::BatchLine line);
  // Ends a pause, or the next one where there is none.
  void rouse();
  boost::asio::awaitable<void> pause(base::Duration at_most);
  bool cancelled(const store::Batch& batch);

  Service& service_;
  const int max_in_flight_;
  boost::asio::io_context context_{1};
  boost::asio::steady_timer wake_{context_};
  std::atomic<bool> stopping_{false};
  // Touched on the thread only.
  bool roused_ = false;
  std::set<Generation*> running_;
  std::vector<Attempt> stuck_;
  std::thread thread_;
};

}  // namespace kvasir::api
