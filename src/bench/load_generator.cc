#include "bench/load_generator.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <ctime>
#include <exception>
#include <memory>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "bench/answer_reader.h"
#include "bench/arrivals.h"

namespace kvasir::bench {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kTick{10};
constexpr int kTicksPerProgress = 20;
constexpr int kSpareFiles = 64;

base::Duration duration_of(double s) {
  return base::Duration(static_cast<base::Duration::rep>(s * 1e9));
}

double thread_cpu_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns how many connections the system allows one process, after raising that limit as far as possible.
int max_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur, 2 * kSpareFiles, 1 << 20)) - kSpareFiles;
}

// A running phase. All of its work happens on the thread that calls `run`.
class Load {
 public:
  Load(const Target& target, const LoadPhase& phase, const ConversationSource& source, const LoadWatch& watch)
      : target_(target), phase_(phase), source_(source), watch_(watch) {}

  PhaseRun run() {
    const double cpu_before_s = thread_cpu_s();
    start_ = clock_.now();
    const std::stop_callback on_stop(watch_.stop, [this] { asio::post(io_, [this] { interrupt(); }); });
    if (phase_.concurrency > 0)
      for (int i = 0; i < phase_.concurrency; ++i) start(client());
    else
      start(arrive());
    asio::co_spawn(io_, tick(), [](std::exception_ptr) {});
    io_.run();
    const double elapsed_s = now_s();
    run_.window_s = window(elapsed_s);
    run_.client_cpu_share = elapsed_s > 0 ? (thread_cpu_s() - cpu_before_s) / elapsed_s : 0;
    run_.interrupted = stopping_;
    return std::move(run_);
  }

 private:
  // The deadline of one request. If the request is over, `connection` is null, so a late timer aborts
  // nothing.
  struct Deadline {
    net::ClientConnection* connection = nullptr;
    bool passed = false;
  };

  double now_s() const { return base::seconds(clock_.now() - start_); }
  double window(double elapsed_s) const {
    if (phase_.duration_s > 0 && !stopping_) return phase_.duration_s;
    double last_s = 0;
    for (const RequestRecord& record : run_.records) last_s = std::max(last_s, record.end_s);
    return last_s > 0 ? last_s : elapsed_s;
  }

  void start(asio::awaitable<void> part) {
    ++num_parts_;
    asio::co_spawn(io_, std::move(part), [this](std::exception_ptr) {
      if (--num_parts_ == 0) ticker_.cancel();
    });
  }

  void interrupt() {
    stopping_ = true;
    for (net::ClientConnection* connection : busy_) connection->abort();
    pause_.cancel();
  }

  // Returns whether another request may start, and counts that request if so.
  bool admit() {
    if (stopping_ || (phase_.num_requests > 0 && num_started_ >= phase_.num_requests)) return false;
    if (phase_.duration_s > 0 && now_s() >= phase_.duration_s) return false;
    ++num_started_;
    return true;
  }

  asio::awaitable<void> client() {
    while (admit()) {
      const Conversation conversation = source_(next_index_++);
      co_await converse(conversation, now_s());
    }
  }

  asio::awaitable<void> arrive() {
    Arrivals arrivals = phase_.rate > 0 ? Arrivals::poisson(phase_.rate, phase_.seed, phase_.burst)
                                        : Arrivals::at(phase_.arrivals_s);
    const int max_in_flight = max_connections();
    for (std::optional<double> at_s = arrivals.next(); at_s; at_s = arrivals.next()) {
      if (phase_.duration_s > 0 && *at_s >= phase_.duration_s) break;
      error_code ignored;
      pause_.expires_at(start_ + duration_of(*at_s));
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      while (!stopping_ && std::ssize(busy_) >= max_in_flight) {
        pause_.expires_after(kTick);
        co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      }
      if (stopping_ || (phase_.num_requests > 0 && num_started_ >= phase_.num_requests)) break;
      ++num_started_;
      start(arrival(next_index_++, *at_s));
    }
  }

  asio::awaitable<void> arrival(std::uint64_t index, double at_s) {
    const Conversation conversation = source_(index);
    co_await converse(conversation, at_s);
  }

  // Runs a conversation, whose first turn must have been admitted already.
  asio::awaitable<void> converse(const Conversation& conversation, double scheduled_s) {
    std::vector<Message> messages = conversation.opening;
    for (std::size_t i = 0; i < conversation.turns.size(); ++i) {
      if (i > 0 && !admit()) break;
      const Turn& turn = conversation.turns[i];
      messages.push_back({"user", turn.text});
      RequestRecord record;
      record.scheduled_s = i == 0 ? scheduled_s : now_s();
      record.turn = static_cast<int>(i);
      const net::HttpCall call = target_.ask(messages, turn.output_tokens);
      std::string answer = co_await request(call, record);
      if (stopping_) break;
      const bool went_well = record.ok();
      finish(std::move(record));
      if (!went_well) break;
      messages.push_back({"assistant", std::move(answer)});
    }
  }

  asio::awaitable<std::string> request(const net::HttpCall& call, RequestRecord& record) {
    std::unique_ptr<net::ClientConnection> connection = take_connection();
    const auto deadline = std::make_shared<Deadline>();
    deadline->connection = connection.get();
    asio::steady_timer timer(io_, duration_of(phase_.timeout_s));
    timer.async_wait([deadline](error_code error) {
      if (error || deadline->connection == nullptr) return;
      deadline->passed = true;
      deadline->connection->abort();
    });
    busy_.insert(connection.get());
    under_way_.insert(&record);
    run_.peak_in_flight = std::max(run_.peak_in_flight, static_cast<int>(busy_.size()));
    AnswerReader reader(record, [this] { return now_s(); });
    record.sent_s = now_s();
    auto outcome = co_await connection->exchange(call, reader.sink());
    deadline->connection = nullptr;
    busy_.erase(connection.get());
    under_way_.erase(&record);
    if (deadline->passed)
      outcome = base::error(base::ErrorCode::timeout, "not finished in {} s", phase_.timeout_s);
    reader.conclude(outcome);
    if (connection->open()) idle_.push_back(std::move(connection));
    co_return reader.text();
  }

  std::unique_ptr<net::ClientConnection> take_connection() {
    if (idle_.empty()) return std::make_unique<net::ClientConnection>(io_.get_executor(), target_.origin);
    std::unique_ptr<net::ClientConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  void finish(RequestRecord record) {
    num_failed_ += record.ok() ? 0 : 1;
    num_chunks_ += std::ssize(record.chunks_s);
    run_.records.push_back(std::move(record));
  }

  // Measures the delays of the client's own loop, and reports progress.
  asio::awaitable<void> tick() {
    for (int i = 1; num_parts_ > 0; ++i) {
      error_code cancelled;
      const base::TimePoint due = clock_.now() + kTick;
      ticker_.expires_at(due);
      co_await ticker_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
      if (cancelled) break;
      run_.client_worst_lag_s = std::max(run_.client_worst_lag_s, base::seconds(clock_.now() - due));
      if (i % kTicksPerProgress == 0) report();
    }
  }

  void report() const {
    std::int64_t num_chunks = num_chunks_;
    for (const RequestRecord* record : under_way_) num_chunks += std::ssize(record->chunks_s);
    watch_.on_progress({.elapsed_s = now_s(),
                        .num_done = static_cast<int>(run_.records.size()),
                        .num_failed = num_failed_,
                        .in_flight = static_cast<int>(busy_.size()),
                        .num_chunks = num_chunks});
  }

  const Target& target_;
  const LoadPhase& phase_;
  const ConversationSource& source_;
  const LoadWatch& watch_;
  const base::RealClock clock_;
  asio::io_context io_{1};
  asio::steady_timer ticker_{io_};
  asio::steady_timer pause_{io_};  // waits between arrivals of an open loop
  base::TimePoint start_;
  std::vector<std::unique_ptr<net::ClientConnection>> idle_;
  std::unordered_set<net::ClientConnection*> busy_;
  std::unordered_set<const RequestRecord*> under_way_;
  PhaseRun run_;
  std::uint64_t next_index_ = 0;
  std::int64_t num_chunks_ = 0;  // chunks of finished requests
  int num_started_ = 0;
  int num_failed_ = 0;
  int num_parts_ = 0;
  bool stopping_ = false;
};

}  // namespace

PhaseRun run_load(const Target& target, const LoadPhase& phase, const ConversationSource& source,
                  const LoadWatch& watch) {
  return Load(target, phase, source, watch).run();
}

}  // namespace kvasir::bench
