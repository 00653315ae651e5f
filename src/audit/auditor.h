#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "audit/comparison.h"
#include "audit/tally.h"
#include "base/clock.h"
#include "router/answer_listener.h"
#include "router/dice.h"
#include "router/router.h"

namespace kvasir::audit {

// Has a share of the answers computed again by other workers, when these have nothing to do, and compares. If
// two disagree, a third one says who is wrong; a worker that was wrong often gets no requests any more. One
// answer at a time is computed again; it gives way to requests of others. A thread of its own does all of it.
class Auditor final : public router::AnswerListener {
 public:
  struct Options {
    double share = 0;                                    // of the answers, from 0 to 1
    base::Duration patience = std::chrono::seconds(60);  // how long an answer waits for workers with room
    std::uint64_t seed = 1;
  };
  // Of more answers the oldest is forgotten.
  static constexpr std::size_t kMostWaiting = 16;
  static constexpr std::size_t kLongestPrompt = 8192;  // tokens of an answer that is still checked

  // The router outlives it.
  Auditor(Options options, router::Router& router);
  ~Auditor() override;
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;
  // What runs is given up. Later answers are ignored.
  void stop();

  bool wants_answer() override;
  void on_answer(router::GivenAnswer answer) override;

 private:
  // An answer on its way through the hands of other workers.
  struct Case {
    router::GivenAnswer answer;
    base::TimePoint until;          // then it is given up
    std::string checker;            // who does not agree; empty: nobody was asked yet
    std::vector<Dispute> disputes;  // of the checker
  };
  using WorkerPtr = std::shared_ptr<router::WorkerMember>;
  using Take = std::function<bool(const wire::TokenEvent&)>;

  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> pause();
  // The next case whose turn it is, with a worker that has nothing to do. Gives up those that waited for
  // long.
  std::optional<std::pair<Case, WorkerPtr>> next();
  // One of the two is known to be wrong, so that nothing is to be learned.
  bool is_settled(const Case& one) const;
  // Somebody who may be asked: is there anybody, and who of them has room?
  struct Room {
    bool has_members = false;
    WorkerPtr member;
  };
  Room room_for(const Case& one);
  boost::asio::awaitable<void> work(Case one, WorkerPtr member);
  // False: it was interrupted, and may be tried again.
  boost::asio::awaitable<bool> check(Case& one, const WorkerPtr& member);
  boost::asio::awaitable<bool> judge(Case& one, const WorkerPtr& member);
  // Asks a worker, and shows the events to `take` until it has enough. False: the answer did not come, or
  // somebody else needs the worker.
  boost::asio::awaitable<bool> ask(WorkerPtr member, wire::GenerateRequest request, Take take);
  void put_back(Case one);
  void blame(const Case& one, const std::string& member, const std::string& judge);
  void leave_undecided(const Case& one, std::string_view why);

  const Options options_;
  router::Router& router_;
  router::Dice dice_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer wake_{io_};  // touched by the thread
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::deque<Case> cases_;  // guarded by mutex_; at most kMostWaiting, besides the one that is worked on
  Tally tally_;             // touched by the thread
  std::thread thread_;
};

}  // namespace kvasir::audit
