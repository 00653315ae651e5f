#include "api/turn_keeper.h"

#include <chrono>
#include <utility>

#include "api/conversation_view.h"
#include "api/request_id.h"
#include "api/response_shape.h"
#include "api/store_task.h"
#include "obs/log.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;
using store::MessageStatus;

namespace {

// How much of an answer a crash may cost.
constexpr std::chrono::seconds kSaveInterval{1};

double milliseconds(base::Duration duration) {
  return base::seconds(duration) * 1000;
}

std::string body_of(const Delta& answer) {
  json::object body{{"content", answer.text}};
  if (!answer.reasoning.empty()) body["reasoning_content"] = answer.reasoning;
  if (!answer.calls.empty()) {
    if (answer.text.empty()) body["content"] = nullptr;
    json::array calls;
    for (const CallDelta& call : answer.calls)
      calls.push_back(
          json::object{{"id", call.id},
                       {"type", "function"},
                       {"function", json::object{{"name", call.name}, {"arguments", call.arguments}}}});
    body["tool_calls"] = std::move(calls);
  }
  return base::json_text(body);
}

std::string finish_reason(const Delta& answer, AnswerKeeper::Ending ending) {
  if (ending == AnswerKeeper::Ending::left) return "cancelled";
  if (ending == AnswerKeeper::Ending::failed || !answer.finish) return "error";
  if (answer.has_calls) return "tool_calls";
  return *answer.finish == wire::FinishReason::stop ? "stop" : "length";
}

}  // namespace

TurnKeeper::TurnKeeper(Service& service, asio::any_io_executor executor, Turn turn)
    : service_(service),
      executor_(std::move(executor)),
      turn_(std::move(turn)),
      started_(service.clock.now()),
      saved_(started_) {
  answer_.id = make_answer_id("msg_");
  answer_.parent_id = turn_.parent_id;
  answer_.role = "assistant";
  answer_.status = MessageStatus::in_progress;
  answer_.body = body_of({});
}

// Whatever was left out, in words that a reader of the conversation can check.
void TurnKeeper::describe(const Job& job) {
  json::object context = context_object(job.context);
  const auto num_left_out =
      static_cast<std::size_t>(job.context.dropped_messages + job.context.summarized_messages);
  const std::string first = num_left_out < turn_.branch.size() ? turn_.branch[num_left_out]
                            : !turn_.append.messages.empty()   ? turn_.append.messages.front().id
                                                               : "";
  context["first_message_id"] = first.empty() ? json::value(nullptr) : json::value(first);
  answer_.context = base::json_text(context);
}

asio::awaitable<Status> TurnKeeper::begin(const Job& job) {
  answer_.model = job.lease.name();
  answer_.created_ms = now_ms();
  describe(job);
  store::Append append = turn_.append;
  append.messages.push_back(answer_);
  append.now_ms = now_ms();
  StoreWork<std::monostate> work = [key = turn_.key, append = std::move(append)](store::Store& store) {
    return store.conversations().append(key, append);
  };
  Status appended = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
  co_return appended;
}

asio::awaitable<Status> TurnKeeper::save() {
  StoreWork<std::monostate> work = [key = turn_.key, answer = answer_](store::Store& store) {
    return store.conversations().save(key, answer);
  };
  Status saved = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
  co_return saved;
}

asio::awaitable<void> TurnKeeper::take(const std::vector<Delta>& deltas) {
  const base::TimePoint now = service_.clock.now();
  for (const Delta& delta : deltas) {
    if (!answer_.first_token_ms && !delta.says_nothing())
      answer_.first_token_ms = milliseconds(now - started_);
    join(sum_, delta);
  }
  if (now - saved_ < kSaveInterval || sum_.finish) co_return;
  saved_ = now;
  answer_.body = body_of(sum_);
  const Status saved = co_await save();
  if (!saved.ok())
    obs::Log::warn("message_not_saved", {{"id", answer_.id}, {"reason", saved.error().message}});
}

asio::awaitable<Result<json::object>> TurnKeeper::end(Ending ending, const wire::Usage& usage) {
  if (ending == Ending::failed && usage.output_tokens == 0) {
    const std::string first = turn_.append.messages.empty() ? answer_.id : turn_.append.messages.front().id;
    StoreWork<std::monostate> work = [key = turn_.key, first](store::Store& store) {
      return store.conversations().withdraw(key, first);
    };
    const Status withdrawn = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
    if (!withdrawn.ok()) co_return withdrawn.error();
    co_return json::object();
  }
  answer_.status = ending == Ending::finished ? MessageStatus::completed : MessageStatus::incomplete;
  answer_.body = body_of(sum_);
  answer_.finish_reason = finish_reason(sum_, ending);
  answer_.prompt_tokens = usage.prompt_tokens;
  answer_.cached_tokens = usage.cached_tokens;
  answer_.output_tokens = usage.output_tokens;
  answer_.total_ms = milliseconds(service_.clock.now() - started_);
  const Status saved = co_await save();
  if (!saved.ok()) {
    obs::Log::warn("message_not_saved", {{"id", answer_.id}, {"reason", saved.error().message}});
    co_return saved.error();
  }
  json::array added;
  for (const store::Message& message : turn_.append.messages) added.emplace_back(message.id);
  json::object fields{{"conversation_id", turn_.key.id}, {"input_message_ids", std::move(added)}};
  fields["message"] = message_object(answer_, turn_.key.id, {});
  co_return fields;
}

}  // namespace kvasir::api
