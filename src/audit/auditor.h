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

// Lets idle workers compute a share of the answers again, and compares the results. If two workers disagree,
// a third one decides which is wrong. A worker that is wrong often gets no more requests. One answer at a
// time is checked, and the check is given up when other requests need the worker. All of this runs on its own
// thread.
class Auditor final : public router::AnswerListener {
 public:
  struct Options {
    double share = 0;                                    // share of the answers to check, from 0 to 1
    base::Duration patience = std::chrono::seconds(60);  // how long an answer waits for idle workers
    std::uint64_t seed = 1;
  };
  // If more answers wait, the oldest is dropped.
  static constexpr std::size_t kMostWaiting = 16;
  static constexpr std::size_t kLongestPrompt = 8192;  // in tokens; answers to longer prompts are not checked

  // The router outlives the auditor.
  Auditor(Options options, router::Router& router);
  ~Auditor() override;
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;
  // Gives up the running check. Later answers are ignored.
  void stop();

  bool wants_answer() override;
  void on_answer(router::GivenAnswer answer) override;

 private:
  // An answer that other workers check.
  struct Case {
    router::GivenAnswer answer;
    base::TimePoint until;          // when the case is given up
    std::string checker;            // the worker that disagrees; empty: none was asked yet
    std::vector<Dispute> disputes;  // the places where the checker disagrees
  };
  using WorkerPtr = std::shared_ptr<router::WorkerMember>;
  using Take = std::function<bool(const wire::TokenEvent&)>;

  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> pause();
  // Finds the next case for which a worker is idle. Drops the cases that have waited too long.
  std::optional<std::pair<Case, WorkerPtr>> next();
  // True if one of the two workers is known to be wrong, so that a check would show nothing new.
  bool is_settled(const Case& one) const;
  // The workers that may be asked: whether there are any, and one of them that is idle.
  struct Room {
    bool has_members = false;
    WorkerPtr member;
  };
  Room room_for(const Case& one);
  boost::asio::awaitable<void> work(Case one, WorkerPtr member);
  // Returns false if it was interrupted; the case may be tried again.
  boost::asio::awaitable<bool> check(Case& one, const WorkerPtr& member);
  boost::asio::awaitable<bool> judge(Case& one, const WorkerPtr& member);
  // Asks a worker, and passes the events to `take` until that returns false. Returns false if the answer did
  // not come or other requests need the worker.
  boost::asio::awaitable<bool> ask(WorkerPtr member, wire::GenerateRequest request, Take take);
  void put_back(Case one);
  void blame(const Case& one, const std::string& member, const std::string& judge);
  void leave_undecided(const Case& one, std::string_view why);

  const Options options_;
  router::Router& router_;
  router::Dice dice_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer wake_{io_};  // touched by the thread only
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::deque<Case> cases_;  // at most kMostWaiting, not counting the one in work; guarded by mutex_
  Tally tally_;             // touched by the thread only
  std::thread thread_;
};

}  // namespace kvasir::audit
