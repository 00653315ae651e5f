#include "api/responses/response_keeper.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "api/http/store_task.h"
#include "store/answers.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

constexpr std::chrono::milliseconds kKept = std::chrono::days(30);  // as with OpenAI
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

asio::awaitable<Status> ResponseKeeper::begin(const Job&) {
  co_return base::ok();
}

asio::awaitable<void> ResponseKeeper::take(const std::vector<Delta>& deltas) {
  for (const Delta& delta : deltas) join(sum_, delta);
  co_return;
}

asio::awaitable<Result<base::json::object>> ResponseKeeper::end(Ending ending, const wire::Usage& usage) {
  if (ending != Ending::finished || shape_ == nullptr) co_return base::json::object();
  const json::object response = shape_->finished(sum_, usage);
  store::StoredAnswer answer;
  answer.id = response.at("id").as_string();
  answer.tenant = source_.tenant;
  answer.kind = "response";
  answer.previous_id = source_.previous_id;
  answer.created_ms = now_ms();
  answer.expires_ms = answer.created_ms + kKept.count();
  answer.input = source_.input;
  answer.body = base::json_text(response);
  StoreWork<std::monostate> work = [answer = std::move(answer)](store::Store& store) -> Status {
    TRY_OK(store.answers().put(answer));
    return sweep(store, answer.created_ms);
  };
  Status kept = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
  if (!kept.ok()) co_return std::move(kept).error();
  co_return base::json::object();
}

}  // namespace kvasir::api
