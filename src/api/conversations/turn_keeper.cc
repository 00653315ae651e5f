#include "api/conversations/turn_keeper.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "api/answer/shape/answer_shape.h"
#include "api/conversations/conversation_view.h"
#include "api/http/service/request_id.h"
#include "api/http/work/store_task.h"
#include "obs/log.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;
using store::MessageStatus;

namespace {

// The answer is saved this often, so a crash loses at most this much of it.
constexpr std::chrono::seconds kSaveInterval{1};

// Estimated size of a queued write, without its texts.
constexpr std::size_t kWriteBytes = 1024;

// Marks a message as incomplete, with the text that the store already has.
Status end_as_it_is(store::Store& store, const store::Key& key, const std::string& id) {
  TRY(std::vector<store::Message> found, store.conversations().messages(key, {id}));
  found.front().status = MessageStatus::incomplete;
  found.front().finish_reason = "error";
  return store.conversations().save(key, found.front());
}

double milliseconds(base::Duration duration) {
  return base::seconds(duration) * 1000;
}

std::string body_of(const Delta& answer, const json::array& items = {}) {
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
  if (!items.empty()) body["items"] = items;
  return base::json_text(body);
}

// Returns the body of a message for one round.
std::string body_of(const std::string& text, const std::string& reasoning,
                    const std::vector<ServerCall>& calls) {
  json::object body{{"content", text.empty() ? json::value(nullptr) : json::value(text)}};
  if (!reasoning.empty()) body["reasoning_content"] = reasoning;
  json::array list;
  for (const ServerCall& call : calls) list.push_back(function_call_object(call));
  body["tool_calls"] = std::move(list);
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
  running_id_ = answer_.id;
}

TurnKeeper::~TurnKeeper() {
  if (!in_progress_) return;
  try {
    end_unfinished();
  } catch (const std::exception& e) {
    obs::Log::error("message_not_ended", {{"id", answer_.id}, {"reason", e.what()}});
  }
}

// Records in the answer what was left out of the prompt, for readers of the conversation.
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
  answer_.model = job.text->name;
  answer_.created_ms = now_ms();
  describe(job);
  store::Append append = turn_.append;
  append.messages.push_back(answer_);
  append.now_ms = now_ms();
  StoreWork<std::monostate> work = [key = turn_.key, append = std::move(append)](store::Store& store) {
    return store.conversations().append(key, append);
  };
  in_progress_ = true;
  Status appended = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
  in_progress_ = appended.ok();
  co_return appended;
}

Write TurnKeeper::saving() const {
  return {[key = turn_.key, answer = answer_](store::Store& store) {
            return store.conversations().save(key, answer);
          },
          answer_.body.size() + answer_.context.size() + kWriteBytes};
}

Write TurnKeeper::appending(store::Append append) const {
  std::size_t num_bytes = kWriteBytes;
  for (const store::Message& message : append.messages) num_bytes += message.body.size() + kWriteBytes;
  return {[key = turn_.key, append = std::move(append)](store::Store& store) {
            return store.conversations().append(key, append);
          },
          num_bytes};
}

asio::awaitable<Status> TurnKeeper::write(Writes more) {
  unsaved_->insert(unsaved_->end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  StoreWork<std::monostate> work = [unsaved = unsaved_](store::Store& store) {
    return write_all(store, *unsaved);
  };
  Status written = co_await run_on_store<std::monostate>(service_, executor_, std::move(work));
  if (unsaved_->empty()) running_id_ = answer_.id;
  co_return written;
}

void TurnKeeper::write_later() {
  if (unsaved_->empty()) return;
  service_.late_writes.add(std::exchange(*unsaved_, {}), ending_as_it_is(running_id_));
}

Write TurnKeeper::withdrawing() const {
  std::vector<std::string> ids;
  for (const store::Message& message : turn_.append.messages) ids.push_back(message.id);
  ids.insert(ids.end(), made_ids_.begin(), made_ids_.end());
  ids.push_back(answer_.id);
  std::size_t num_bytes = kWriteBytes;
  for (const std::string& id : ids) num_bytes += sizeof(std::string) + id.size();
  return {[key = turn_.key, ids = std::move(ids)](store::Store& store) {
            return store.conversations().withdraw(key, ids);
          },
          num_bytes};
}

Write TurnKeeper::ending_as_it_is(const std::string& id) const {
  return {[key = turn_.key, id](store::Store& store) { return end_as_it_is(store, key, id); }, kWriteBytes};
}

// Does not touch `unsaved_`: the store's thread may still work on it.
void TurnKeeper::end_unfinished() {
  Writes writes;
  if (made_ids_.empty() && !answer_.first_token_ms) {
    writes.push_back(withdrawing());
  } else {
    // The store may not know yet that a round has ended and that the next message has begun.
    if (running_id_ != answer_.id) writes.push_back(ending_as_it_is(running_id_));
    writes.push_back(ending_as_it_is(answer_.id));
  }
  service_.late_writes.add(std::move(writes), ending_as_it_is(answer_.id));
}

asio::awaitable<Status> TurnKeeper::save() {
  Writes writes;
  writes.push_back(saving());
  Status saved = co_await write(std::move(writes));
  co_return saved;
}

asio::awaitable<void> TurnKeeper::take(const std::vector<Delta>& deltas) {
  const base::TimePoint now = service_.clock.now();
  for (const Delta& delta : deltas) {
    for (const ServerCall& call : delta.server_calls) {
      const auto same = std::ranges::find(calls_, call.id, &ServerCall::id);
      if (same == calls_.end())
        calls_.push_back(call);
      else
        *same = call;
    }
    if (delta.round) {
      const Status ended = co_await end_round(*delta.round);
      if (!ended.ok())
        obs::Log::warn("message_not_saved", {{"id", answer_.id}, {"reason", ended.error().message}});
      continue;
    }
    if (!answer_.first_token_ms && !delta.says_nothing())
      answer_.first_token_ms = milliseconds(now - started_);
    join(sum_, delta);
  }
  if (now - saved_ < kSaveInterval || sum_.finish || !calls_.empty()) co_return;
  saved_ = now;
  answer_.body = body_of(sum_);
  const Status saved = co_await save();
  if (saved.ok()) co_return;
  obs::Log::warn("message_not_saved", {{"id", answer_.id}, {"reason", saved.error().message}});
  // The next save includes the text of this failed one.
  if (!unsaved_->empty()) unsaved_->pop_back();
}

void TurnKeeper::count(const wire::Usage& usage, Ending ending) {
  answer_.prompt_tokens = usage.prompt_tokens;
  answer_.cached_tokens = usage.cached_tokens;
  answer_.output_tokens = usage.output_tokens;
  answer_.total_ms = milliseconds(service_.clock.now() - started_);
  const meter::Price* price = service_.meter.prices().find(answer_.model, turn_.tier);
  if (price == nullptr) return;
  const meter::Tokens tokens{usage.prompt_tokens, usage.cached_tokens, usage.output_tokens};
  answer_.cost = ending == Ending::failed ? 0.0 : static_cast<double>(cost_nano(*price, tokens)) / 1e9;
}

std::vector<store::Message> TurnKeeper::result_messages(const std::vector<ServerCall>& calls) {
  std::vector<store::Message> messages;
  std::string parent = answer_.id;
  for (const ServerCall& call : calls) {
    store::Message& one = messages.emplace_back();
    one.id = make_answer_id("msg_");
    one.parent_id = std::exchange(parent, one.id);
    one.created_ms = now_ms();
    one.role = "tool";
    json::object body{{"content", call.output}, {"tool_call_id", call.id}, {"name", call.name}};
    if (call.status != ServerCall::Status::completed) body["is_error"] = true;
    one.body = base::json_text(body);
    one.total_ms = call.duration_ms;
    made_ids_.push_back(one.id);
  }
  return messages;
}

asio::awaitable<Status> TurnKeeper::end_round(const ToolRound& round) {
  answer_.status = MessageStatus::completed;
  answer_.body = body_of(round.text, round.reasoning, round.calls);
  answer_.finish_reason = "tool_calls";
  count(round.usage, Ending::finished);
  counted_.prompt_tokens += round.usage.prompt_tokens;
  counted_.cached_tokens += round.usage.cached_tokens;
  counted_.output_tokens += round.usage.output_tokens;
  made_ids_.push_back(answer_.id);
  store::Append append{.messages = result_messages(round.calls), .only_follows = true};
  store::Message next;
  next.id = make_answer_id("msg_");
  next.parent_id = append.messages.back().id;
  next.created_ms = now_ms();
  next.role = "assistant";
  next.status = MessageStatus::in_progress;
  next.model = answer_.model;
  next.context = answer_.context;
  next.body = body_of({});
  append.messages.push_back(next);
  append.now_ms = now_ms();
  Writes writes;
  writes.push_back(saving());
  writes.push_back(appending(std::move(append)));
  answer_ = next;
  // Calls in this round that the client has to run belong to the next message.
  Delta rest;
  rest.calls = std::exchange(sum_.calls, {});
  sum_ = std::move(rest);
  calls_.clear();
  started_ = service_.clock.now();
  saved_ = started_;
  Status stored = co_await write(std::move(writes));
  co_return stored;
}

asio::awaitable<Status> TurnKeeper::end_inside_round() {
  for (ServerCall& call : calls_)
    if (!call.ended()) call.output = "The call was given up.";
  answer_.body = body_of(sum_.text, sum_.reasoning, calls_);
  store::Append append{.messages = result_messages(calls_), .only_follows = true, .now_ms = now_ms()};
  Writes writes;
  writes.push_back(saving());
  writes.push_back(appending(std::move(append)));
  Status stored = co_await write(std::move(writes));
  co_return stored;
}

asio::awaitable<Result<json::object>> TurnKeeper::end(Ending ending, const wire::Usage& usage) {
  if (ending == Ending::failed && usage.output_tokens == 0) {
    Writes writes;
    writes.push_back(withdrawing());
    const Status withdrawn = co_await write(std::move(writes));
    write_later();
    in_progress_ = false;
    if (!withdrawn.ok()) co_return withdrawn.error();
    co_return json::object();
  }
  answer_.status = ending == Ending::finished ? MessageStatus::completed : MessageStatus::incomplete;
  answer_.body = body_of(sum_, items_);
  answer_.finish_reason = finish_reason(sum_, ending);
  wire::Usage own = usage;
  own.prompt_tokens -= counted_.prompt_tokens;
  own.cached_tokens -= counted_.cached_tokens;
  own.output_tokens -= counted_.output_tokens;
  count(own, ending);
  const bool inside_round = !calls_.empty();
  Status saved = base::ok();
  if (inside_round)
    saved = co_await end_inside_round();
  else
    saved = co_await save();
  write_later();
  in_progress_ = false;
  if (!saved.ok()) {
    obs::Log::warn("message_not_saved", {{"id", answer_.id}, {"reason", saved.error().message}});
    co_return saved.error();
  }
  json::array added;
  for (const store::Message& message : turn_.append.messages) added.emplace_back(message.id);
  json::object fields{{"conversation_id", turn_.key.id}, {"input_message_ids", std::move(added)}};
  fields["message"] = message_object(answer_, turn_.key.id, {});
  if (!made_ids_.empty()) {
    json::array made;
    for (const std::string& id : made_ids_) made.emplace_back(id);
    fields["server_tool_message_ids"] = std::move(made);
  }
  co_return fields;
}

}  // namespace kvasir::api
