#include "api/http/record/request_meter.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "api/http/work/store_task.h"
#include "obs/log.h"
#include "obs/tracer.h"

namespace kvasir::api {

namespace asio = boost::asio;

namespace {

std::int64_t whole_ms(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::shared_ptr<RequestTrace> trace_of_nobody() {
  return std::make_shared<RequestTrace>(
      obs::no_tracer().begin("", std::nullopt, obs::Tracer::Detail::ids_only));
}

// Lets another function find the coroutine's timer while the coroutine waits.
class Waiter {
 public:
  Waiter(asio::steady_timer*& place, asio::steady_timer& timer) : place_(place) { place_ = &timer; }
  ~Waiter() { place_ = nullptr; }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  asio::steady_timer*& place_;
};

}  // namespace

// Used on the executor only.
struct Commit::State {
  State(asio::any_io_executor executor_in, base::Duration max_wait_in)
      : executor(std::move(executor_in)), max_wait(max_wait_in) {}

  const asio::any_io_executor executor;
  const base::Duration max_wait;
  bool ready = false;
  asio::steady_timer* wake = nullptr;  // null: nobody waits
};

asio::awaitable<void> Commit::wait() const {
  const std::shared_ptr<State> state = state_;
  if (!state || state->ready) co_return;
  asio::steady_timer wake(state->executor);
  wake.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(state->max_wait));
  const Waiter waiter(state->wake, wake);
  boost::system::error_code ignored;
  co_await wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

RequestMeter::RequestMeter(Surroundings surroundings, const tenancy::Caller& caller,
                           meter::UsageRecord record)
    : meter_(surroundings.meter),
      metrics_(surroundings.metrics),
      clock_(surroundings.clock),
      max_commit_wait_(surroundings.max_commit_wait),
      trace_(surroundings.trace ? std::move(surroundings.trace) : trace_of_nobody()),
      tier_(caller.tier),
      started_(clock_.now()),
      record_(std::move(record)) {
  record_.tenant = caller.tenant;
  record_.key = caller.key;
}

RequestMeter::~RequestMeter() {
  try {
    write({}, meter::Wake::now);
  } catch (const std::exception& e) {
    obs::Log::error("usage_lost", {{"id", record_.id}, {"reason", e.what()}});
  }
}

void RequestMeter::begin(const std::string& model, const Promise& promise) {
  if (!std::exchange(begun_, true)) promise_ = promise;
  record_.model = model;
  class_ = &metrics_.of_class(model, tier_->name);
}

void RequestMeter::note_token() {
  if (first_token_) return;
  first_token_ = clock_.now();
  record_.ttft_ms = whole_ms(*first_token_ - started_);
  if (class_ != nullptr && record_.kind == meter::UsageRecord::Kind::request)
    class_->ttft.observe(base::seconds(*first_token_ - started_), trace_->spans->id());
}

void RequestMeter::note_gap(double seconds) {
  if (class_ != nullptr) class_->itl.observe(seconds);
}

void RequestMeter::note_pace(double seconds_per_token) {
  slowest_s_ = std::max(slowest_s_, seconds_per_token);
}

void RequestMeter::judge() const {
  const bool promised = promise_.ttft_s > 0 && promise_.tpot_s > 0;
  if (!promised || record_.kind != meter::UsageRecord::Kind::request) return;
  if (record_.finish == meter::Finish::cancelled) return;
  // An answer without any token counts as having come when it ended.
  const double first_s = base::seconds(first_token_.value_or(clock_.now()) - started_);
  const bool good =
      record_.finish != meter::Finish::failed && first_s <= promise_.ttft_s && slowest_s_ <= promise_.tpot_s;
  obs::RecentRatio& goodput = metrics_.goodput(record_.model, tier_->name);
  good ? goodput.count_good() : goodput.count_bad();
  trace_->met_slo = good;
  if (!good) trace_->spans->keep();
}

void RequestMeter::note_ending() const {
  if (record_.kind != meter::UsageRecord::Kind::request) return;
  trace_->finish = name_of(record_.finish);
  if (record_.ttft_ms >= 0) trace_->ttft_ms = record_.ttft_ms;
}

void RequestMeter::count() const {
  if (record_.kind != meter::UsageRecord::Kind::request) return;
  if (!begun_) return metrics_.count_refused(tier_->name);
  if (slowest_s_ > 0) class_->tpot.observe(slowest_s_, trace_->spans->id());
  switch (record_.finish) {
    case meter::Finish::cancelled:
      class_->aborted.add();
      class_->aborts.add();
      break;
    case meter::Finish::failed:
      class_->failed.add();
      break;
    default:
      class_->completed.add();
      class_->e2e.observe(base::seconds(clock_.now() - started_), trace_->spans->id());
  }
}

void RequestMeter::add(const wire::Usage& usage, meter::Finish finish) {
  record_.prompt_tokens += usage.prompt_tokens;
  record_.cached_tokens += usage.cached_tokens;
  record_.completion_tokens += usage.output_tokens;
  record_.finish = finish;
}

Commit RequestMeter::close(std::optional<meter::Finish> finish, const asio::any_io_executor& executor) {
  Commit commit;
  if (!begun_ || written_) return commit;
  if (finish) record_.finish = *finish;
  commit.state_ = std::make_shared<Commit::State>(executor, max_commit_wait_);
  const auto tell = [state = commit.state_] {
    asio::post(state->executor, [state] {
      state->ready = true;
      if (state->wake != nullptr) state->wake->cancel();
    });
  };
  // One step may end several answers. Their records are written together, after the last of them.
  if (write(tell, meter::Wake::later)) asio::post(executor, [&meter = meter_] { meter.wake(); });
  return commit;
}

bool RequestMeter::write(meter::Done done, meter::Wake wake) {
  if (std::exchange(written_, true)) return false;
  count();
  if (!begun_) return false;
  record_.total_ms = whole_ms(clock_.now() - started_);
  record_.time_ms = now_ms();
  judge();
  note_ending();
  return meter_.record(std::move(record_), tier_->name, std::move(done), wake);
}

}  // namespace kvasir::api
