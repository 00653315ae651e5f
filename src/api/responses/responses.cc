#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "api/answer/answer.h"
#include "api/answer/count_tokens.h"
#include "api/answer/read_body.h"
#include "api/http/store_task.h"
#include "api/http/text_task.h"
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

// Sets the chat's messages: this request's instructions, then the items of earlier responses, then its own.
Status complete_chat(ChatRequest& chat, const std::string& instructions, const json::array& earlier,
                     const json::array& own) {
  json::array items = earlier;
  items.insert(items.end(), own.begin(), own.end());
  TRY(json::array messages, messages_of_items(items, earlier.size(), chat.params.warnings));
  if (!instructions.empty())
    messages.insert(messages.begin(), json::object{{"role", "system"}, {"content", instructions}});
  chat.messages = std::move(messages);
  return base::ok();
}

// A wrong previous_response_id is an error in the request, not in its path, so the status is 400, as with
// OpenAI.
Error as_wrong_previous(Error error, const std::string& id) {
  if (error.code == ErrorCode::not_found)
    error = Error{ErrorCode::invalid_argument,
                  fmt::format("Previous response with id '{}' not found", id.substr(0, 100)), "",
                  "previous_response_not_found"};
  return in_field("previous_response_id", std::move(error));
}

bool has_to_look_up(const ResponsesRequest& request) {
  return !request.previous_id.empty() || has_references(request.items);
}

// Items of earlier responses, and the request's own items with references resolved.
struct LookedUp {
  json::array earlier;
  json::array own;
};

Result<LookedUp> look_up(store::Store& store, const std::string& tenant, const std::string& previous_id,
                         const json::array& items) {
  LookedUp found;
  if (!previous_id.empty()) {
    Result<json::array> earlier = items_up_to(store, {tenant, previous_id});
    if (!earlier.ok()) return as_wrong_previous(std::move(earlier).error(), previous_id);
    found.earlier = std::move(*earlier);
  }
  found.own = items;
  TRY_OK(resolve_references(store, tenant, found.own));
  return found;
}

// A size that sends the work to another thread, since the store may add a long text to a short request.
constexpr std::size_t kNotHere = kSmallBody + 1;

// Completes the chat of a request that refers to stored items.
asio::awaitable<Result<ChatRequest>> complete_from_store(Service& service, Exchange& exchange,
                                                         const ResponsesRequest& request) {
  StoreWork<LookedUp> find = [tenant = exchange.caller.tenant, id = request.previous_id,
                              items = request.items](store::Store& store) {
    return look_up(store, tenant, id, items);
  };
  Result<LookedUp> found = co_await run_on_store<LookedUp>(service, exchange, std::move(find));
  if (!found.ok()) co_return std::move(found).error();
  TextTask<ChatRequest>::Work complete =
      [chat = request.chat, instructions = request.instructions,
       found = std::move(*found)](const std::stop_token&) -> Result<ChatRequest> {
    ChatRequest whole = chat;
    TRY_OK(complete_chat(whole, instructions, found.earlier, found.own));
    return whole;
  };
  co_return co_await run_text_work<ChatRequest>(service.reading, exchange, kNotHere, std::move(complete));
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
  Result<ChatRequest> chat = co_await complete_from_store(service, exchange, *request);
  if (!chat.ok()) co_return std::move(chat).error();
  request->chat = std::move(*chat);
  co_return request;
}

Question question_of(Service& service, Exchange& exchange, ResponsesRequest request) {
  std::shared_ptr<ResponseKeeper> keeper;
  if (request.store)
    keeper = std::make_shared<ResponseKeeper>(
        service, exchange.responder.executor(),
        ResponseKeeper::Source{exchange.caller.tenant, base::json_text(json::value(request.items)),
                               request.previous_id});
  const bool looked_up = has_to_look_up(request);
  auto make_shape = [echo = std::move(request.echo), tools = std::move(request.client_tools),
                     keeper](AnswerHead head) {
    auto shape = responses_shape(std::move(head), echo, tools);
    if (keeper) keeper->watch(*shape);
    return shape;
  };
  Question question(std::move(request.chat), std::move(make_shape));
  question.keeper = std::move(keeper);
  if (looked_up) question.num_other_bytes = kNotHere;
  return question;
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
  Question question = question_of(service, exchange, std::move(*request));
  co_await answer(service, exchange, kResponsesAnswer, std::move(question));
}

}  // namespace kvasir::api
