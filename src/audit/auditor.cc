#include "audit/auditor.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

#include "obs/log.h"

namespace kvasir::audit {

namespace asio = boost::asio;
using router::GivenAnswer;
using Steady = std::chrono::steady_clock;

namespace {

// Time between checks whether a worker has room, and whether other requests need the worker in use.
constexpr std::chrono::milliseconds kLookForRoom{100};
constexpr std::chrono::milliseconds kLookForOthers{20};
constexpr int kMostLooks = 100;                      // checks until a worker must report that it is idle
constexpr std::chrono::seconds kLongestSilence{10};  // of a worker that computes an answer again
constexpr double kDiceSides = 1 << 30;

// Returns the number of requests on the worker; a huge number if the worker cannot be used.
int num_requests(const router::WorkerMember& member) {
  const wire::WorkerReport report = member.worker->report();
  if (report.failed || !report.progressing) return 1 << 20;
  return std::max(member.num_leases(), report.num_running + report.num_waiting);
}

bool is_idle(const router::WorkerMember& member) {
  return num_requests(member) == 0;
}

// Whether other requests need the worker. The auditor's own sequence is in its report but has no lease.
bool is_needed(const router::WorkerMember& member) {
  return member.num_leases() > 0 || num_requests(member) > 1;
}

}  // namespace

Auditor::Auditor(Options options, router::Router& router)
    : options_(options), router_(router), dice_(options.seed) {
  asio::co_spawn(io_, run(), asio::detached);
  thread_ = std::thread([this] { io_.run(); });
}

Auditor::~Auditor() {
  stop();
}

void Auditor::stop() {
  stopping_ = true;
  asio::post(io_, [this] { wake_.cancel(); });
  if (thread_.joinable()) thread_.join();
}

bool Auditor::wants_answer() {
  if (stopping_ || options_.share <= 0) return false;
  return static_cast<double>(dice_.below(static_cast<std::size_t>(kDiceSides))) < options_.share * kDiceSides;
}

void Auditor::on_answer(GivenAnswer answer) {
  if (answer.request.num_prompt_logprobs || answer.request.prompt.size() > kLongestPrompt) return;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (cases_.size() >= kMostWaiting) cases_.pop_front();
    cases_.push_back({.answer = std::move(answer), .until = Steady::now() + options_.patience});
  }
  asio::post(io_, [this] { wake_.cancel(); });
}

asio::awaitable<void> Auditor::run() {
  while (!stopping_) {
    auto found = next();
    if (found)
      co_await work(std::move(found->first), std::move(found->second));
    else
      co_await pause();
  }
}

// Waits for a new case, or until it is time to look for room again.
asio::awaitable<void> Auditor::pause() {
  bool has_cases = false;
  {
    const std::lock_guard lock(mutex_);
    has_cases = !cases_.empty();
  }
  wake_.expires_after(has_cases ? Steady::duration(kLookForRoom) : Steady::duration(std::chrono::hours(1)));
  boost::system::error_code ignored;
  if (!stopping_) co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

std::optional<std::pair<Auditor::Case, Auditor::WorkerPtr>> Auditor::next() {
  std::deque<Case> cases;
  {
    const std::lock_guard lock(mutex_);
    cases.swap(cases_);
  }
  std::optional<std::pair<Case, WorkerPtr>> found;
  std::deque<Case> left;
  for (Case& one : cases) {
    if (is_settled(one)) continue;
    if (found) {
      left.push_back(std::move(one));
      continue;
    }
    Room room = room_for(one);
    if (room.member)
      found.emplace(std::move(one), std::move(room.member));
    else if (room.has_members && Steady::now() < one.until)
      left.push_back(std::move(one));
    else if (!one.checker.empty())
      leave_undecided(one, room.has_members ? "no third worker has had room" : "there is no third worker");
  }
  const std::lock_guard lock(mutex_);
  cases_.insert(cases_.begin(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
  while (cases_.size() > kMostWaiting) cases_.pop_front();
  return found;
}

bool Auditor::is_settled(const Case& one) const {
  const std::string& model = one.answer.model;
  return router_.is_distrusted(model, one.answer.member) || router_.is_distrusted(model, one.checker);
}

Auditor::Room Auditor::room_for(const Case& one) {
  const GivenAnswer& answer = one.answer;
  Room room;
  std::size_t num_idle = 0;
  for (const WorkerPtr& member : router_.members_of(answer.model, answer.version)) {
    if (member->id == answer.member || member->id == one.checker) continue;
    room.has_members = true;
    if (is_idle(*member) && dice_.below(++num_idle) == 0) room.member = member;
  }
  return room;
}

void Auditor::put_back(Case one) {
  const std::lock_guard lock(mutex_);
  cases_.push_back(std::move(one));
}

asio::awaitable<void> Auditor::work(Case one, WorkerPtr member) {
  bool done = false;
  if (one.checker.empty())
    done = co_await check(one, member);
  else
    done = co_await judge(one, member);
  if (done) co_return;
  if (Steady::now() < one.until)
    put_back(std::move(one));
  else if (!one.checker.empty())
    leave_undecided(one, "the third worker was needed by others");
  co_await pause();
}

asio::awaitable<bool> Auditor::check(Case& one, const WorkerPtr& member) {
  Comparison comparison(one.answer);
  Comparison::Then then = Comparison::Then::ask_again;
  const Take take = [&](const wire::TokenEvent& event) {
    then = comparison.take(event);
    return then == Comparison::Then::more;
  };
  while (then != Comparison::Then::over) {
    const bool came = co_await ask(member, comparison.request(), take);
    if (!came) co_return false;
  }
  if (comparison.disagrees()) {
    one.checker = member->id;
    one.disputes = comparison.disputes();
    one.until = Steady::now() + options_.patience;
    put_back(std::move(one));
    co_return true;
  }
  router_.count_check(one.answer.model);
  tally_.note_right(one.answer.model, one.answer.member);
  tally_.note_right(one.answer.model, member->id);
  co_return true;
}

asio::awaitable<bool> Auditor::judge(Case& one, const WorkerPtr& member) {
  Vote vote(one.disputes);
  TokenId said = kEnd;
  const Take take = [&said](const wire::TokenEvent& event) {
    if (!event.tokens.empty()) said = event.tokens.front().id;
    return event.tokens.empty();
  };
  while (const Dispute* dispute = vote.next()) {
    said = kEnd;
    const bool came = co_await ask(member, request_after(one.answer, dispute->at, 1), take);
    if (!came) co_return false;
    vote.take(said);
  }
  const Vote::Wrong wrong = vote.result();
  if (wrong == Vote::Wrong::undecided)
    leave_undecided(one, "a third worker agrees with neither");
  else
    blame(one, wrong == Vote::Wrong::given ? one.answer.member : one.checker, member->id);
  co_return true;
}

asio::awaitable<bool> Auditor::ask(WorkerPtr member, wire::GenerateRequest request, Take take) {
  // The worker's report may still count the auditor's previous request.
  for (int i = 0; !is_idle(*member); ++i) {
    if (stopping_ || i == kMostLooks) co_return false;
    asio::steady_timer timer(io_, kLookForOthers);
    co_await timer.async_wait(asio::use_awaitable);
  }
  auto reader = member->worker->generate(std::move(request), io_.get_executor());
  if (!reader.ok()) {
    obs::Log::debug("check_refused", {{"worker", member->id}, {"reason", reader.error().message}});
    co_return false;
  }
  Steady::time_point deadline = Steady::now() + kLongestSilence;
  for (;;) {
    std::optional<wire::TokenEvent> event = co_await (*reader)->next(kLookForOthers);
    if (stopping_ || is_needed(*member) || Steady::now() > deadline) {
      obs::Log::debug("check_given_up", {{"worker", member->id}, {"requests", num_requests(*member)}});
      co_return false;
    }
    if (!event) continue;
    if (event->error) {
      obs::Log::debug("check_refused", {{"worker", member->id}, {"reason", event->error->message}});
      co_return false;
    }
    if (!take(*event) || event->last()) co_return true;
    deadline = Steady::now() + kLongestSilence;
  }
}

void Auditor::blame(const Case& one, const std::string& member, const std::string& judge) {
  const std::string& model = one.answer.model;
  router_.count_check(model);
  router_.count_disagreement(model, member);
  const std::string& other = member == one.answer.member ? one.checker : one.answer.member;
  obs::Log::warn("answer_wrong", {{"model", model},
                                  {"worker", member},
                                  {"against", other + "," + judge},
                                  {"request", one.answer.request.origin.request_id},
                                  {"position", one.disputes.front().at}});
  tally_.note_right(model, other);
  tally_.note_right(model, judge);
  if (!tally_.note_wrong(model, member)) return;
  tally_.forget(model, member);
  router_.distrust(model, member);
  obs::Log::error("worker_distrusted",
                  {{"model", model},
                   {"worker", member},
                   {"reason", "several of its answers were found wrong; it gets no requests any more"}});
}

void Auditor::leave_undecided(const Case& one, std::string_view why) {
  const std::string& model = one.answer.model;
  router_.count_check(model);
  router_.count_disagreement(model, std::string(router::Trust::kUndecided));
  obs::Log::warn("answers_differ", {{"model", model},
                                    {"workers", one.answer.member + "," + one.checker},
                                    {"request", one.answer.request.origin.request_id},
                                    {"position", one.disputes.front().at},
                                    {"reason", why}});
}

}  // namespace kvasir::audit
