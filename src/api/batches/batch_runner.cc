#include "api/batches/batch_runner.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "api/batches/batch_answer.h"
#include "api/batches/batch_lines.h"
#include "api/http/json/error_map.h"
#include "api/http/service/request_id.h"
#include "api/http/work/store_task.h"
#include "obs/log.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using store::BatchStatus;

namespace {

// How often to look for new batches, for batches of a process that died, and for requests to cancel.
constexpr std::chrono::seconds kIdlePause{1};
constexpr std::chrono::seconds kMaxStuckPause{60};
// How many batches run, and how many this process has taken from the store, at most.
constexpr std::size_t kMaxUnderWay = 4;
constexpr std::size_t kMaxTaken = 64;

bool is_passing(const Error& error) {
  // Two errors do not pass soon. A model that could not be loaded will not become ready by itself. A spent
  // budget comes back after hours or weeks, and the lines of other tenants' batches must not wait for that.
  return (error.code == ErrorCode::exhausted || error.code == ErrorCode::unavailable) &&
         error.reason != "model_failed" && error.reason != "insufficient_quota" && error.retry_after_s >= 0;
}

store::Key key_of(const store::Batch& batch) {
  return {batch.tenant, batch.id};
}

store::LineOutcome outcome_of(const store::BatchLine& line, const Result<std::string>& answer) {
  const int status = answer.ok() ? 200 : http_status(answer.error());
  const std::string body = answer.ok() ? *answer : base::json_text(error_body(answer.error()));
  // The body is already JSON, so it is inserted as it is rather than parsed again.
  const std::string head =
      base::json_text(json::object{{"id", make_answer_id("batch_req_")}, {"custom_id", line.custom_id}});
  return {.number = line.number,
          .result = fmt::format("{},\"response\":{{\"status_code\":{},\"request_id\":\"{}\",\"body\":{}}},"
                                "\"error\":null}}",
                                head.substr(0, head.size() - 1), status, make_id("req"), body),
          .failed = !answer.ok()};
}

}  // namespace

// The lines of one batch that are being answered.
struct BatchRunner::Progress {
  Progress(boost::asio::io_context& context, store::Batch batch_in)
      : batch(std::move(batch_in)), pause(context) {}
  store::Batch batch;
  Pause pause;
  std::set<Generation*> running;
  int num_running = 0;
  bool stopped = false;  // the batch was cancelled, or the store failed
};

BatchRunner::BatchRunner(Service& service, int max_in_flight)
    : service_(service), max_in_flight_(max_in_flight) {}

void BatchRunner::start() {
  asio::co_spawn(context_, run(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

BatchRunner::~BatchRunner() {
  stop();
}

void BatchRunner::Pause::rouse() {
  roused = true;
  timer.cancel();
}

void BatchRunner::stop() {
  stopping_ = true;
  asio::post(context_, [this] {
    for (const auto& [tenant, progress] : under_way_) {
      if (progress == nullptr) continue;
      for (Generation* generation : progress->running) generation->cancel();
      progress->pause.rouse();
    }
    pause_.rouse();
  });
  if (thread_.joinable()) thread_.join();
}

asio::awaitable<void> BatchRunner::Pause::wait(base::Duration at_most) {
  timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(at_most));
  boost::system::error_code ignored;
  // Waits even while stopping: lines that wait for a model run on this thread and must notice the stop.
  if (!roused) co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  roused = false;
}

std::optional<BatchRunner::Attempt> BatchRunner::due_attempt() {
  const base::TimePoint now = service_.clock.now();
  const auto due = std::ranges::find_if(waiting_, [&](const Attempt& attempt) {
    return attempt.again <= now && !under_way_.contains(attempt.batch.tenant);
  });
  if (due == waiting_.end()) return std::nullopt;
  Attempt attempt = std::move(*due);
  waiting_.erase(due);
  if (Result<store::Batch> found = service_.store.batches().find(key_of(attempt.batch)); found.ok())
    attempt.batch = std::move(*found);
  return attempt;
}

std::optional<BatchRunner::Attempt> BatchRunner::next_attempt() {
  if (under_way_.size() >= kMaxUnderWay) return std::nullopt;
  while (true) {
    if (std::optional<Attempt> due = due_attempt()) return due;
    if (under_way_.size() + waiting_.size() >= kMaxTaken) return std::nullopt;
    Result<std::optional<store::Batch>> claimed = service_.store.batches().claim();
    if (!claimed.ok()) obs::Log::warn("batches_not_read", {{"reason", claimed.error().message}});
    if (!claimed.ok() || !*claimed) return std::nullopt;
    waiting_.push_back({std::move(**claimed)});
  }
}

void BatchRunner::take_up_later(Attempt attempt) {
  obs::Log::warn("batch_stuck",
                 {{"id", attempt.batch.id}, {"tried_again_in_s", base::seconds(attempt.pause)}});
  attempt.again = service_.clock.now() + attempt.pause;
  attempt.pause = std::min<base::Duration>(attempt.pause * 2, kMaxStuckPause);
  waiting_.push_back(std::move(attempt));
}

asio::awaitable<void> BatchRunner::run() {
  while (!stopping_) {
    std::optional<Attempt> attempt = next_attempt();
    if (!attempt) {
      co_await pause_.wait(kIdlePause);
      continue;
    }
    under_way_[attempt->batch.tenant] = nullptr;
    asio::co_spawn(context_, run_batch(std::move(*attempt)), asio::detached);
  }
}

asio::awaitable<void> BatchRunner::run_batch(Attempt attempt) {
  const bool over = co_await work_on(attempt.batch);
  under_way_.erase(attempt.batch.tenant);
  if (!over && !stopping_) take_up_later(std::move(attempt));
  pause_.rouse();
}

asio::awaitable<bool> BatchRunner::work_on(store::Batch batch) {
  store::Batches& batches = service_.store.batches();
  const store::Key key = key_of(batch);
  const Status valid = batch.status == BatchStatus::validating ? validate(batch) : base::ok();
  if (!valid.ok()) co_return valid.error().code == ErrorCode::not_found;  // true if the tenant is gone
  co_await run_lines(batch);
  if (stopping_) co_return false;
  const Result<store::Batch> now = batches.find(key);
  if (!now.ok()) co_return now.error().code == ErrorCode::not_found;
  if (now->status == BatchStatus::failed) co_return true;
  if (now->status == BatchStatus::cancelling) co_return finish(key, BatchStatus::cancelled);
  const auto left = batches.open_lines(batch.id, 0, 1);
  if (!left.ok() || !left->empty()) co_return false;
  (void)batches.advance(key, {BatchStatus::in_progress}, BatchStatus::finalizing, now_ms());
  co_return finish(key, BatchStatus::completed);
}

bool BatchRunner::finish(const store::Key& key, BatchStatus status) {
  const store::Batches::Ending ending{status, make_answer_id("file-"), make_answer_id("file-"), now_ms()};
  const Result<store::Batch> ended = service_.store.batches().finish(key, ending);
  if (!ended.ok()) obs::Log::warn("batch_not_finished", {{"id", key.id}, {"reason", ended.error().message}});
  return ended.ok();
}

Status BatchRunner::validate(const store::Batch& batch) {
  const store::Key key = key_of(batch);
  auto contents = service_.store.files().contents({batch.tenant, batch.input_file_id});
  if (!contents.ok() && contents.error().code != ErrorCode::not_found) return contents.error();
  if (!contents.ok()) {
    const json::object error{{"code", "file_not_found"},
                             {"message", contents.error().message},
                             {"param", "input_file_id"},
                             {"line", nullptr}};
    return service_.store.batches().fail(key, base::json_text(json::array{error}), now_ms());
  }
  const BatchInput input = read_batch_input(*contents, batch.endpoint);
  if (!input.errors.empty())
    return service_.store.batches().fail(key, base::json_text(input.errors), now_ms());
  return service_.store.batches().begin(key, input.lines, now_ms());
}

bool BatchRunner::cancelled(const store::Batch& batch) {
  const Result<store::Batch> now = service_.store.batches().find(key_of(batch));
  return !now.ok() || now->status != BatchStatus::in_progress;
}

asio::awaitable<void> BatchRunner::run_lines(const store::Batch& batch) {
  auto progress = std::make_shared<Progress>(context_, batch);
  under_way_[batch.tenant] = progress.get();
  std::int64_t last = 0;
  while (true) {
    if (!progress->stopped && (stopping_ || cancelled(batch))) {
      progress->stopped = true;
      for (Generation* generation : progress->running) generation->cancel();
    }
    std::vector<store::BatchLine> lines;
    const int num_free = progress->stopped ? 0 : max_in_flight_ - progress->num_running;
    if (num_free > 0) {
      Result<std::vector<store::BatchLine>> open =
          service_.store.batches().open_lines(batch.id, last, num_free);
      if (open.ok()) lines = std::move(*open);
    }
    for (store::BatchLine& line : lines) {
      last = line.number;
      ++progress->num_running;
      asio::co_spawn(context_, run_line(progress, std::move(line)), asio::detached);
    }
    if (progress->num_running == 0) break;
    co_await progress->pause.wait(kIdlePause);
  }
  under_way_[batch.tenant] = nullptr;
}

asio::awaitable<void> BatchRunner::run_line(std::shared_ptr<Progress> progress, store::BatchLine line) {
  while (!progress->stopped && !stopping_) {
    Result<std::string> answer = std::string();
    // An exception in one line (mostly out of memory) must not end the others.
    try {
      answer =
          co_await answer_line(service_, context_.get_executor(), progress->batch, line, progress->running);
    } catch (const std::exception& e) {
      answer = base::error(ErrorCode::internal, "the line could not be answered: {}", e.what());
    }
    if (!answer.ok() && answer.error().code == ErrorCode::cancelled) break;
    if (!answer.ok() && is_passing(answer.error()) && !stopping_) {
      asio::steady_timer timer(context_, std::chrono::milliseconds(static_cast<std::int64_t>(
                                             std::clamp(answer.error().retry_after_s, 0.2, 1.0) * 1000)));
      boost::system::error_code ignored;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      continue;
    }
    if (stopping_) break;  // the engines are stopping; the line is not at fault
    const Status kept = service_.store.batches().finish_line(progress->batch.id, outcome_of(line, answer));
    if (!kept.ok()) {
      obs::Log::warn("batch_line_not_kept", {{"id", progress->batch.id}, {"reason", kept.error().message}});
      progress->stopped = true;
    }
    break;
  }
  --progress->num_running;
  progress->pause.rouse();
}

}  // namespace kvasir::api
