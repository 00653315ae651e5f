#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "api/chat_job.h"
#include "api/endpoints.h"
#include "api/prepare.h"
#include "api/respond.h"
#include "api/response_keeper.h"
#include "api/responses_request.h"
#include "api/responses_shape.h"
#include "api/server_tools.h"
#include "api/stored_responses.h"
#include "api/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// The chat's messages: the instructions of this request, and the items of all before it and of its own.
Status complete_chat(ChatRequest& chat, const std::string& instructions, const json::array& earlier,
                     const json::array& own) {
  json::array items = earlier;
  items.insert(items.end(), own.begin(), own.end());
  TRY(json::array messages, messages_of_items(items, earlier.size()));
  if (!instructions.empty())
    messages.insert(messages.begin(), json::object{{"role", "system"}, {"content", instructions}});
  chat.messages = std::move(messages);
  return base::ok();
}

// The request is wrong, and not its address: 400, as OpenAI has it.
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

CompleteChat looks_up_items(Service& service, const ResponsesRequest& request) {
  return [&store = service.store, id = request.previous_id, instructions = request.instructions,
          items = request.items](ChatRequest& chat) -> Status {
    Result<json::array> earlier = json::array();
    if (!id.empty()) earlier = items_up_to(store, id);
    if (!earlier.ok()) return as_wrong_previous(std::move(earlier).error(), id);
    json::array own = items;
    TRY_OK(resolve_references(store, own));
    return complete_chat(chat, instructions, *earlier, own);
  };
}

Result<ReadRequest> read(Service& service, const asio::any_io_executor& executor, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ResponsesRequest request, read_responses_request(std::move(object)));
  if (!has_references(request.items))
    TRY_OK(complete_chat(request.chat, request.instructions, {}, request.items));
  std::shared_ptr<ResponseKeeper> keeper;
  if (request.store) {
    ResponseKeeper::Source source{base::json_text(json::value(request.items)), request.previous_id};
    keeper = std::make_shared<ResponseKeeper>(service, executor, std::move(source));
  }
  CompleteChat complete;
  if (has_to_look_up(request)) complete = looks_up_items(service, request);
  auto make_shape = [echo = std::move(request.echo), keeper](AnswerHead head) {
    auto shape = responses_shape(std::move(head), echo);
    if (keeper) keeper->watch(*shape);
    return shape;
  };
  TRY(ReadRequest read,
      read_chat(service, std::move(request.chat), std::move(make_shape), std::move(complete)));
  read.keeper = keeper;
  return read;
}

// May block for the store.
Result<std::size_t> count(Service& service, std::string_view body, const std::stop_token& stop) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ResponsesRequest request, read_responses_request(std::move(object)));
  TRY_OK(looks_up_items(service, request)(request.chat));
  TRY_OK(add_server_tools(service.tools, request.chat.tools));
  TRY(const router::Lease lease, service.router.pick(request.chat.params.model));
  TRY(const EncodedChat encoded, encode_chat(lease.model(), request.chat, stop));
  return encoded.tokens.size();
}

}  // namespace

asio::awaitable<void> handle_count_response(Service& service, Exchange& exchange) {
  const auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<std::size_t>::Work work = [&service, body](const std::stop_token& stop) {
    return count(service, *body, stop);
  };
  constexpr std::size_t kOnItsThread = kSmallBody + 1;
  Result<std::size_t> number =
      co_await run_text_work<std::size_t>(service.tokenizing, exchange, kOnItsThread, std::move(work));
  if (!number.ok()) {
    if (number.error().code == ErrorCode::cancelled) co_return;
    co_await reply_error(exchange, std::move(number).error());
    co_return;
  }
  const json::object answer{{"object", "response.input_tokens"}, {"input_tokens", *number}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(answer)));
}

asio::awaitable<void> handle_responses(Service& service, Exchange& exchange) {
  Read reader = [executor = exchange.responder.executor()](Service& of, std::string_view body) {
    return read(of, executor, body);
  };
  co_await respond(service, exchange, std::move(reader), kResponsesAnswer);
}

}  // namespace kvasir::api
