#include "api/answer/seat/await_turn.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "api/answer/seat/wait_watch.h"
#include "api/http/wait/lobby.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Status;

namespace {

// How often the first request in line asks again.
constexpr auto kPoll = std::chrono::milliseconds(5);

// How much later than forecast the model's first tokens came lately, as a factor.
double caution_of(Service& service, const Job& job) {
  return service.cautions.of(job.text->name).factor();
}

base::Error overloaded(const wire::Forecast& forecast, double caution, const std::string& tier) {
  const wire::Latency limit = forecast.limit();
  const double cautious_s = forecast.expected.ttft_s * caution;
  const double late_s = cautious_s - limit.ttft_s;
  const char* const reason = "server_overloaded";
  const std::string what =
      late_s > 0 ? fmt::format("the first token could take {:.2f} s, and the limit of tier '{}' is {:.2f} s",
                               cautious_s, tier, limit.ttft_s)
                 : fmt::format("tokens would come every {:.0f} ms, and the limit of tier '{}' is {:.0f} ms",
                               forecast.expected.tpot_s * 1e3, tier, limit.tpot_s * 1e3);
  const double retry_s = std::max(1.0, std::ceil(late_s));
  return {.code = base::ErrorCode::unavailable,
          .message = fmt::format("the server is overloaded: {}; try again in {:.0f} s", what, retry_s),
          .reason = reason,
          .retry_after_s = retry_s};
}

// The refusal of a request because others wait already; `who` names them.
base::Error others_wait(std::string_view who) {
  const char* const reason = "server_overloaded";
  return {.code = base::ErrorCode::unavailable,
          .message = fmt::format("the server is overloaded, and {} already; try again in 1 s", who),
          .reason = reason,
          .retry_after_s = 1};
}

void set_promise(const wire::Forecast& forecast, Place& place) {
  if (!forecast.is_known()) return;
  const wire::Latency limit = forecast.limit();
  place.promise = {
      .ttft_s = limit.ttft_s, .tpot_s = limit.tpot_s, .predicted_ttft_s = forecast.expected.ttft_s};
}

Lobby::Guest guest_of(const Asker& asker, const Job& job) {
  const tenancy::Caller& caller = asker.caller;
  return {.model = job.text->name,
          .priority = caller.tier->priority,
          .flow = caller.flow,
          .weight = caller.tier->weight,
          .cost = std::max<std::int64_t>(1, job.context.prompt_tokens)};
}

base::Error refusal(Service& service, const Job& job, const Place& place, const tenancy::Tier& tier) {
  const wire::Forecast forecast = forecast_of(job, place);
  const double caution = caution_of(service, job);
  return forecast.is_within(caution) ? others_wait("requests that came before wait")
                                     : overloaded(forecast, caution, tier.name);
}

asio::awaitable<Status> wait_in_line(Service& service, Outlet& out, const Asker& asker, const Job& job,
                                     Place& place) {
  net::Responder& responder = out.exchange().responder;
  const std::unique_ptr<Lobby::Ticket> ticket =
      service.lobby.join(guest_of(asker, job), responder.executor());
  if (!ticket) co_return others_wait("too many requests wait");
  const WaitWatch watch(out, *ticket);
  const base::TimePoint deadline =
      service.clock.now() + std::chrono::milliseconds(asker.caller.tier->max_wait_ms);
  for (;;) {
    if (service.drains()) co_return draining_error(service);
    if (ticket->is_first()) {
      const wire::Forecast forecast = forecast_of(job, place);
      set_promise(forecast, place);
      if (forecast.is_within(caution_of(service, job))) co_return base::ok();
    }
    const base::TimePoint now = service.clock.now();
    if (now >= deadline) co_return refusal(service, job, place, *asker.caller.tier);
    const base::Duration left = deadline - now;
    co_await ticket->wait(ticket->is_first() ? std::min<base::Duration>(left, kPoll) : left);
    if (Status still = watch.check(); !still.ok()) co_return still;
  }
}

}  // namespace

wire::Forecast forecast_of(const Job& job, const Place& place) {
  wire::Outline outline = outline_of(job, place.blocks);
  // If the pool has several members, the router knows how much of the prompt is cached. A single worker
  // counts this itself.
  if (place.lease.route().num_members > 1) outline.num_cached_tokens = place.lease.route().num_cached;
  wire::Forecast forecast = place.lease.worker().forecast(outline);
  const router::Route& route = place.lease.route();
  if (route.prefill && forecast.expected.ttft_s > route.expected_ttft_s)
    forecast.expected.ttft_s = route.expected_ttft_s;
  return forecast;
}

bool may_start_now(Service& service, const Asker& asker, const Job& job, Place& place) {
  const wire::Forecast forecast = forecast_of(job, place);
  set_promise(forecast, place);
  return forecast.is_within(caution_of(service, job)) &&
         !service.lobby.has_line(job.text->name, asker.caller.tier->priority);
}

asio::awaitable<Status> await_turn(Service& service, Outlet& out, const Asker& asker, const Job& job,
                                   Place& place) {
  const tenancy::Tier& tier = *asker.caller.tier;
  const bool may_start = may_start_now(service, asker, job, place);
  if (may_start || !service.options.admits_by_goodput || tier.max_wait_ms < 0) co_return base::ok();
  if (tier.max_wait_ms == 0) co_return refusal(service, job, place, tier);
  co_return co_await wait_in_line(service, out, asker, job, place);
}

}  // namespace kvasir::api
