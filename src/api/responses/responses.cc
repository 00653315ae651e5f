#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/answer.h"
#include "api/answer/count_tokens.h"
#include "api/answer/write/streams.h"
#include "api/http/work/body_room.h"
#include "api/http/work/read_body.h"
#include "api/http/work/store_task.h"
#include "api/http/work/text_task.h"
#include "api/items/chat_items.h"
#include "api/items/stored_items.h"
#include "api/responses/background_run.h"
#include "api/responses/conversed_keeper.h"
#include "api/responses/endpoints.h"
#include "api/responses/referenced_items.h"
#include "api/responses/response_keeper.h"
#include "api/responses/responses_request.h"
#include "api/responses/responses_shape.h"
#include "api/responses/stored_responses.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// Builds the chat's messages: this request's instructions, then `earlier`, then its own items.
Status complete_chat(ChatRequest& chat, const std::string& instructions, json::array earlier,
                     const json::array& own) {
  TRY(json::array added, messages_of_items(own, 0, chat.params.warnings));
  if (!instructions.empty())
    earlier.insert(earlier.begin(), json::object{{"role", "system"}, {"content", instructions}});
  for (json::value& message : added) earlier.push_back(std::move(message));
  chat.messages = std::move(earlier);
  return base::ok();
}

// A wrong previous_response_id is an error in the request, not in its path, so the status is 400, as in
// OpenAI's API.
Error as_wrong_previous(Error error, const std::string& id) {
  if (error.code == ErrorCode::not_found)
    error = Error{ErrorCode::invalid_argument,
                  fmt::format("Previous response with id '{}' not found", id.substr(0, 100)), "",
                  "previous_response_not_found"};
  return in_field("previous_response_id", std::move(error));
}

bool has_to_look_up(const ResponsesRequest& request) {
  return !request.previous_id.empty() || !request.conversation_id.empty() || has_references(request.items);
}

// The stored things that a request refers to: items of earlier responses or the conversation so far, and the
// request's own items with references resolved.
struct LookedUp {
  json::array earlier;
  std::optional<TurnPlace> place;
  json::array own;
};

Result<LookedUp> look_up(store::Store& store, const std::string& tenant, const ResponsesRequest& request,
                         const CountBytes& count) {
  LookedUp found;
  if (!request.previous_id.empty()) {
    Result<json::array> earlier = items_up_to(store, {tenant, request.previous_id}, count);
    if (!earlier.ok()) return as_wrong_previous(std::move(earlier).error(), request.previous_id);
    found.earlier = std::move(*earlier);
  }
  if (!request.conversation_id.empty()) {
    const WantedPlace wanted{.key = {tenant, request.conversation_id}};
    Result<TurnPlace> place = find_place(store.conversations(), wanted);
    if (!place.ok()) return in_field("conversation", std::move(place).error());
    found.place = std::move(*place);
    TRY_OK(count(bytes_of(found.place->branch)));
  }
  found.own = request.items;
  TRY_OK(resolve_references(store, tenant, found.own));
  return found;
}

// Completes a request that is a turn of a conversation.
Status complete_turn(ResponsesRequest& request, LookedUp found) {
  const store::Conversation& conversation = found.place->conversation;
  TRY(json::array earlier, chat_of_messages(found.place->branch));
  std::string instructions = conversation.system_prompt;
  if (!request.instructions.empty()) {
    if (!instructions.empty()) instructions += "\n\n";
    instructions += request.instructions;
  }
  TRY_OK(complete_chat(request.chat, instructions, std::move(earlier), found.own));
  for (json::value& item : found.own)
    if (has_references(request.items)) make_item_id(item.get_object());
  const std::vector<std::string>& path = found.place->path;
  TRY(request.added, messages_to_store(found.own, path.empty() ? "" : path.back(), "input"));
  request.items = std::move(found.own);
  set_conversation(found.place->key.id, request.chat.params);
  request.place = std::move(found.place);
  return base::ok();
}

Status complete_request(ResponsesRequest& request, LookedUp found) {
  if (found.place) return complete_turn(request, std::move(found));
  json::array items = std::move(found.earlier);
  const std::size_t num_earlier = items.size();
  items.insert(items.end(), found.own.begin(), found.own.end());
  TRY(json::array messages, messages_of_items(items, num_earlier, request.chat.params.warnings));
  if (!request.instructions.empty())
    messages.insert(messages.begin(), json::object{{"role", "system"}, {"content", request.instructions}});
  request.chat.messages = std::move(messages);
  return base::ok();
}

// A size that always means another thread, since the store may add a long text to a short request.
constexpr std::size_t kNotHere = kSmallBody + 1;

// Completes a request that refers to stored items.
asio::awaitable<Result<ResponsesRequest>> complete_from_store(Service& service, Exchange& exchange,
                                                              ResponsesRequest request) {
  const auto shared = std::make_shared<const ResponsesRequest>(std::move(request));
  StoreWork<LookedUp> find = [tenant = exchange.caller.tenant, shared,
                              hold = exchange.request.body_hold](store::Store& store) {
    return look_up(store, tenant, *shared,
                   [&hold](std::size_t num_bytes) { return count_text(hold, num_bytes); });
  };
  Result<LookedUp> found = co_await run_on_store<LookedUp>(service, exchange, std::move(find));
  if (!found.ok()) co_return std::move(found).error();
  TextTask<ResponsesRequest>::Work complete =
      [shared, found = std::move(*found)](const std::stop_token&) -> Result<ResponsesRequest> {
    ResponsesRequest whole = *shared;
    TRY_OK(complete_request(whole, found));
    return whole;
  };
  co_return co_await run_text_work<ResponsesRequest>(service.reading, exchange, kNotHere,
                                                     std::move(complete));
}

Result<ResponsesRequest> read(json::object body) {
  TRY(ResponsesRequest request, read_responses_request(std::move(body)));
  if (!has_to_look_up(request)) TRY_OK(complete_chat(request.chat, request.instructions, {}, request.items));
  return request;
}

// Reads the request and completes its chat.
asio::awaitable<Result<ResponsesRequest>> read_whole(Service& service, Exchange& exchange) {
  Result<ResponsesRequest> request = co_await read_body<ResponsesRequest>(service, exchange, read);
  if (!request.ok() || !has_to_look_up(*request)) co_return request;
  co_return co_await complete_from_store(service, exchange, std::move(*request));
}

TurnKeeper::Turn turn_of(ResponsesRequest& request, const tenancy::Caller& caller) {
  TurnKeeper::Turn turn{.key = request.place->key};
  turn.append = {.messages = std::move(request.added),
                 .expected_leaf = request.place->expected_leaf,
                 .title = title_of_items(request.items),
                 .now_ms = now_ms()};
  turn.branch = request.place->path;
  turn.parent_id = turn.append.messages.back().id;
  turn.tier = caller.tier->name;
  return turn;
}

// Makes the keeper that stores the answer; null: the answer is not stored. Sets `watch` to the function that
// gives the keeper the shape.
std::shared_ptr<AnswerKeeper> keeper_of(Service& service, Exchange& exchange, ResponsesRequest& request,
                                        std::shared_ptr<BackgroundRun> background,
                                        std::function<void(ResponsesShape&)>& watch) {
  const asio::any_io_executor executor = exchange.responder.executor();
  std::shared_ptr<ResponseKeeper> response;
  if (request.store) {
    ResponseKeeper::Source source{exchange.caller.tenant, base::json_text(json::value(request.items)),
                                  request.previous_id, std::move(background)};
    response = std::make_shared<ResponseKeeper>(service, executor, std::move(source));
    watch = [response](ResponsesShape& shape) { response->watch(shape); };
  }
  if (!request.place) return response;
  auto turn = std::make_unique<TurnKeeper>(service, executor, turn_of(request, exchange.caller));
  auto both = std::make_shared<ConversedKeeper>(std::move(turn), std::move(response));
  watch = [both](ResponsesShape& shape) { both->watch(shape); };
  return both;
}

// `background` is null if the client waits for the response.
Question question_of(Service& service, Exchange& exchange, ResponsesRequest request,
                     std::shared_ptr<BackgroundRun> background = nullptr) {
  std::function<void(ResponsesShape&)> watch;
  std::shared_ptr<AnswerKeeper> keeper = keeper_of(service, exchange, request, std::move(background), watch);
  const bool looked_up = has_to_look_up(request);
  auto make_shape = [echo = std::move(request.echo), tools = std::move(request.client_tools),
                     watch = std::move(watch)](AnswerHead head) {
    auto shape = responses_shape(std::move(head), echo, tools);
    if (watch) watch(*shape);
    return shape;
  };
  const int num_unread =
      request.place ? static_cast<int>(request.place->path.size() - request.place->branch.size()) : 0;
  Question question(std::move(request.chat), std::move(make_shape));
  question.keeper = std::move(keeper);
  question.num_unread_messages = num_unread;
  if (looked_up) question.num_other_bytes = kNotHere;
  return question;
}

// Answers with the response as it begins, or with a stream of its events from the first on.
asio::awaitable<void> answer_in_background(Service& service, Exchange& exchange, ResponsesRequest request) {
  const bool streams = request.chat.params.stream;
  const auto run = std::make_shared<BackgroundRun>(service, exchange);
  Question question = question_of(service, run->exchange(), std::move(request), run);
  co_await BackgroundRun::begin(run, std::move(question));
  if (!run->is_accepted()) co_return co_await run->refuse(exchange);
  exchange.headers = run->exchange().headers;
  if (!streams) co_return co_await reply(exchange, net::HttpResponse::json(200, run->body()));
  exchange.headers.emplace_back("x-stream-id", run->id());
  Result<std::shared_ptr<EventLog>> log = service.streams.find({exchange.caller.tenant, run->id()});
  if (!log.ok()) co_return co_await reply_error(exchange, std::move(log).error());
  co_await replay_log(service, exchange, std::move(*log), 0);
}

}  // namespace

asio::awaitable<void> handle_count_response(Service& service, Exchange& exchange) {
  Result<ResponsesRequest> request = co_await read_whole(service, exchange);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  Result<std::size_t> number = co_await count_tokens(service, exchange, std::move(request->chat));
  if (!number.ok()) co_return co_await reply_error(exchange, std::move(number).error());
  const json::object answer{{"object", "response.input_tokens"}, {"input_tokens", *number}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(answer)));
}

asio::awaitable<void> handle_responses(Service& service, Exchange& exchange) {
  Result<ResponsesRequest> request = co_await read_whole(service, exchange);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  if (request->background()) co_return co_await answer_in_background(service, exchange, std::move(*request));
  Question question = question_of(service, exchange, std::move(*request));
  co_await answer(service, exchange, kResponsesAnswer, std::move(question));
}

}  // namespace kvasir::api
