#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "fleet/membership.h"
#include "fleet/worker_board.h"
#include "remote/remote_worker.h"
#include "router/residence.h"
#include "router/router.h"

namespace kvasir::gateway {

// The models of a fleet: connects to its workers, gets each model's text from the first worker that has it,
// and keeps the router and the board up to date. One thread handles news and reads texts; another runs the
// timers of reconnects. Thread-safe. The settings, the router and the board outlive it.
class RemoteModels {
 public:
  struct Parts {
    const config::Settings& settings;
    router::Router& router;
    fleet::WorkerBoard& board;
    router::OnModelState on_state;  // may be empty
  };
  // Whether the settings name workers, so that no model is in this process.
  static bool are_meant(const config::Settings& settings) {
    return !settings.workers.empty() || !settings.etcd.empty();
  }
  static base::Result<std::unique_ptr<RemoteModels>> start(Parts parts);
  // Ends the connections, and ends their streams with an error.
  ~RemoteModels();
  RemoteModels(const RemoteModels&) = delete;
  RemoteModels& operator=(const RemoteModels&) = delete;
  // Like the destructor, but keeps the models.
  void stop();

 private:
  struct Member {
    fleet::WorkerPlace place;
    std::shared_ptr<remote::RemoteWorker> worker;
    std::string model;  // in whose pool the worker is; empty: in none
    std::string fault;  // why it is not connected, as last logged
    // Set while it is ready and has joined no pool: when it is tried again.
    std::optional<std::chrono::steady_clock::time_point> again;
  };
  struct Model {
    std::string fingerprint;
    std::string text_digest;
  };
  struct News {
    std::string id;
    remote::RemoteWorker::Standing standing;
  };

  RemoteModels(Parts parts, remote::PeerOptions peer);
  base::Status follow_members();
  // Connects to new workers, and forgets workers that are not listed any more.
  void update_members(const std::vector<fleet::WorkerPlace>& places);
  // Ends connections of forgotten workers whose last streams have ended.
  void end_unused();
  base::Status connect(Member& member);
  void loop();
  void heed(const News& news);
  void warn_of(Member& member, const std::string& reason);
  void join(Member& member, const wire::WorkerCard& card);
  // The member is ready, and joins no pool for now.
  void leave_out(Member& member, const wire::WorkerCard& card, const char* event, const std::string& reason,
                 std::chrono::seconds pause);
  void take_left_out();
  void leave(Member& member);
  // Adds the model to the router, with the text of this worker.
  base::Status open(Member& member, const wire::WorkerCard& card);
  bool has_members(const std::string& model) const;
  static fleet::WorkerStanding standing_of(const Member& member);
  // Writes the present standing of all workers to the board.
  void publish();
  void tell(const std::string& model, const router::ModelState& state);

  const Parts parts_;
  const remote::PeerOptions peer_;
  boost::asio::io_context timers_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{timers_.get_executor()};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<News> news_;                                  // guarded by mutex_
  std::optional<std::vector<fleet::WorkerPlace>> listed_;  // guarded by mutex_; not handled yet
  bool stopping_ = false;                                  // guarded by mutex_
  std::map<std::string, Member> members_;   // by id; touched by thread_, or the owner without it
  std::map<std::string, Model> models_;     // by name; touched by the thread
  std::vector<fleet::WorkerPlace> places_;  // touched by the thread
  // Workers that are not listed any more, but still have streams. Touched like members_.
  std::vector<std::shared_ptr<remote::RemoteWorker>> leaving_;
  std::thread timer_thread_;
  std::thread thread_;
  std::unique_ptr<fleet::Membership> membership_;  // declared last: it ends before what it calls
};

}  // namespace kvasir::gateway
