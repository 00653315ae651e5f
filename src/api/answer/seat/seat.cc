#include "api/answer/seat/seat.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "api/answer/encode/ready_job.h"
#include "api/answer/seat/await_turn.h"
#include "api/http/caller/caller.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

using TextPtr = std::shared_ptr<const QuestionText>;

// The chat if its model may call tools of this server; otherwise null.
std::shared_ptr<const ChatRequest> chat_with_server_tools(const TextPtr& text) {
  const auto* chat = std::get_if<ChatRequest>(text.get());
  if (chat == nullptr || chat->tools.server_tools.empty()) return nullptr;
  return {text, chat};
}

Result<Seat> seat_of(Service& service, const Asker& asker, Job job, const TextPtr& text) {
  TRY(Place place, admit(service, asker, job));
  return Seat{std::move(job), std::move(place), chat_with_server_tools(text)};
}

asio::awaitable<Result<Seat>> prepare(Service& service, Outlet& out, const Asker& asker, const TextPtr& text,
                                      std::size_t num_bytes) {
  obs::SpanScope span(*out.exchange().trace->spans, "tokenize");
  Result<Job> job = co_await make_ready(service, out, text, num_bytes);
  if (!job.ok()) span.fail(job.error().reason);
  if (!job.ok()) co_return std::move(job).error();
  span.note("kvasir.tokens", job->context.prompt_tokens);
  span.end();
  co_return seat_of(service, asker, std::move(*job), text);
}

// The largest ready model that is smaller than this one. Null if there is none.
router::ChatTextPtr next_smaller(const Service& service, const tenancy::Caller& caller,
                                 const router::ChatText& model) {
  const auto ready = service.router.generating(model.name, reach_of(caller));
  if (!ready.ok()) return nullptr;
  router::ChatTextPtr best;
  for (const router::ChatTextPtr& other : *ready)
    if (other->num_parameters < model.num_parameters &&
        (!best || other->num_parameters > best->num_parameters))
      best = other;
  return best;
}

TextPtr for_model(const QuestionText& text, const std::string& model) {
  QuestionText copy = text;
  std::visit([&model](auto& request) { request.params.model = model; }, copy);
  return std::make_shared<const QuestionText>(std::move(copy));
}

// A seat at the next smaller model, if it would be in time there.
asio::awaitable<std::optional<Seat>> downgrade(Service& service, Outlet& out, const Asker& asker,
                                               const TextPtr& text, const router::ChatTextPtr& model,
                                               std::size_t num_bytes) {
  const router::ChatTextPtr smaller = next_smaller(service, asker.caller, *model);
  if (!smaller) co_return std::nullopt;
  Result<Seat> seat = co_await prepare(service, out, asker, for_model(*text, smaller->name), num_bytes);
  if (!seat.ok() || !may_start_now(service, asker, seat->job, seat->place)) {
    out.add_header("x-kvasir-model", model->name);
    co_return std::nullopt;
  }
  out.exchange().model = smaller->name;
  co_return std::move(*seat);
}

asio::awaitable<Result<Seat>> choose_seat(Service& service, Outlet& out, const Asker& asker,
                                          const TextPtr& text, std::size_t num_bytes) {
  Job job;
  {
    Result<Seat> own = co_await prepare(service, out, asker, text, num_bytes);
    if (!own.ok() || !service.options.admits_by_goodput || !params_of(*text).allow_downgrade ||
        may_start_now(service, asker, own->job, own->place))
      co_return std::move(own);
    job = std::move(own->job);
  }  // `own` gives its place back here, so that the request counts once
  std::optional<Seat> smaller = co_await downgrade(service, out, asker, text, job.text, num_bytes);
  if (smaller) co_return std::move(*smaller);
  co_return seat_of(service, asker, std::move(job), text);
}

}  // namespace

asio::awaitable<Result<Seat>> find_seat(Service& service, Outlet& out, const Asker& asker, TextPtr text,
                                        std::size_t num_bytes, WhenFull when_full) {
  Result<Seat> seat = co_await choose_seat(service, out, asker, text, num_bytes);
  if (!seat.ok()) co_return std::move(seat).error();
  if (when_full == WhenFull::refuse && service.options.admits_by_goodput &&
      !may_start_now(service, asker, seat->job, seat->place))
    co_return base::error(base::ErrorCode::unavailable, "the model would be late");
  text.reset();  // it may be large, and the request may wait long
  out.exchange().request.body_hold.reset();
  const obs::SpanScope waits(*out.exchange().trace->spans, "admission wait");
  Status turn = co_await await_turn(service, out, asker, seat->job, seat->place);
  if (!turn.ok()) co_return std::move(turn).error();
  co_return std::move(*seat);
}

}  // namespace kvasir::api
