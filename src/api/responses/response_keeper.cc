#include "api/responses/response_keeper.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "api/http/work/store_task.h"
#include "obs/log.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;
using store::AnswerState;
using store::StoredAnswer;

namespace {

constexpr std::chrono::milliseconds kKept = std::chrono::days(30);  // as in OpenAI's API
constexpr std::size_t kWriteBytes = 512;                            // size of a record besides its text
constexpr std::chrono::milliseconds kSweepEvery = std::chrono::hours(1);

// Deletes expired responses, unless that was done recently.
Status sweep(store::Store& store, std::int64_t now) {
  static std::atomic<std::int64_t> swept_ms{0};
  std::int64_t last = swept_ms.load();
  if (now - last < kSweepEvery.count() || !swept_ms.compare_exchange_strong(last, now)) return base::ok();
  TRY_OK(store.answers().remove_expired(now));
  return base::ok();
}

}  // namespace

ResponseKeeper::ResponseKeeper(Service& service, asio::any_io_executor executor, Source source)
    : service_(service), executor_(std::move(executor)), source_(std::move(source)) {}

ResponseKeeper::~ResponseKeeper() {
  if (!running_) return;
  try {
    Writes writes;
    writes.push_back(saving_failure());
    service_.late_writes.add(std::move(writes), saving_failure());
  } catch (const std::exception& e) {
    obs::Log::error("response_not_ended", {{"reason", e.what()}});
  }
}

StoredAnswer ResponseKeeper::record_of(const json::object& response, AnswerState state) const {
  StoredAnswer answer;
  answer.id = response.at("id").as_string();
  answer.tenant = source_.tenant;
  answer.kind = "response";
  answer.previous_id = source_.previous_id;
  answer.created_ms = now_ms();
  answer.expires_ms = answer.created_ms + kKept.count();
  answer.input = source_.input;
  answer.body = base::json_text(response);
  answer.state = state;
  return answer;
}

asio::awaitable<Status> ResponseKeeper::put(const json::object& response, AnswerState state) {
  StoreWork<std::monostate> work = [answer = record_of(response, state)](store::Store& store) -> Status {
    TRY_OK(store.answers().put(answer));
    return sweep(store, answer.created_ms);
  };
  return run_on_store<std::monostate>(service_, executor_, std::move(work));
}

asio::awaitable<Status> ResponseKeeper::save(const json::object& response, AnswerState state) {
  StoreWork<std::monostate> work = [answer = record_of(response, state)](store::Store& store) {
    return store.answers().save(answer);
  };
  return run_on_store<std::monostate>(service_, executor_, std::move(work));
}

asio::awaitable<Status> ResponseKeeper::begin(const Job&) {
  if (!source_.background) co_return base::ok();
  begun_ = shape_->begun("queued");
  Status stored = co_await put(begun_, AnswerState::in_progress);
  if (!stored.ok()) co_return stored;
  running_ = true;
  source_.background->accept(std::string(begun_.at("id").as_string()), base::json_text(begun_));
  co_return base::ok();
}

asio::awaitable<void> ResponseKeeper::take(const std::vector<Delta>& deltas) {
  for (const Delta& delta : deltas) join(sum_, delta);
  if (!running_ || is_writing_ || sum_.finish) co_return;
  is_writing_ = true;
  begun_["status"] = "in_progress";
  const Status saved = co_await save(begun_, AnswerState::in_progress);
  if (!saved.ok()) obs::Log::warn("response_not_saved", {{"reason", saved.error().message}});
}

Write ResponseKeeper::saving(const json::object& response) const {
  StoredAnswer answer = record_of(response, AnswerState::complete);
  answer.input.clear();  // the store already has the input
  const std::size_t num_bytes = answer.body.size() + kWriteBytes;
  return {[answer = std::move(answer)](store::Store& store) { return store.answers().save(answer); },
          num_bytes};
}

// Stores a short failure instead of the response, for when the response itself cannot be stored.
Write ResponseKeeper::saving_failure() const {
  json::object failed = begun_;
  failed["status"] = "failed";
  failed["error"] = {{"code", "server_error"}, {"message", "the server could not finish this response"}};
  return saving(failed);
}

asio::awaitable<Status> ResponseKeeper::end_background(Ending ending, const wire::Usage& usage) {
  const base::Error* failure = ending == Ending::failed && failure_ ? &*failure_ : nullptr;
  const auto unsaved = std::make_shared<Writes>();
  unsaved->push_back(saving(ending == Ending::finished ? shape_->finished(sum_, usage)
                                                       : shape_->ended_early(sum_, usage, failure)));
  StoreWork<std::monostate> work = [unsaved](store::Store& store) { return write_all(store, *unsaved); };
  Status saved = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
  if (!unsaved->empty()) service_.late_writes.add(std::exchange(*unsaved, {}), saving_failure());
  running_ = false;
  // The response was deleted while it ran.
  if (!saved.ok() && saved.error().code == base::ErrorCode::not_found) co_return base::ok();
  co_return saved;
}

asio::awaitable<Result<base::json::object>> ResponseKeeper::end(Ending ending, const wire::Usage& usage) {
  Status kept = base::ok();
  if (running_)
    kept = co_await end_background(ending, usage);
  else if (ending == Ending::finished && shape_ != nullptr)
    kept = co_await put(shape_->finished(sum_, usage), AnswerState::complete);
  if (!kept.ok()) co_return std::move(kept).error();
  co_return base::json::object();
}

}  // namespace kvasir::api
