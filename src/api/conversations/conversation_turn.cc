#include <algorithm>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/answer.h"
#include "api/conversations/conversation_view.h"
#include "api/conversations/endpoints.h"
#include "api/conversations/turn_keeper.h"
#include "api/conversations/turn_request.h"
#include "api/http/json/page_query.h"
#include "api/http/work/answer_by_store.h"
#include "api/http/work/body_room.h"
#include "api/http/work/store_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

store::Append append_of(TurnRequest& turn, const TurnPlace& place) {
  return {.messages = std::move(turn.added),
          .expected_leaf = place.expected_leaf,
          .title = std::move(turn.title),
          .now_ms = now_ms()};
}

TurnKeeper::Turn kept_turn(TurnRequest& turn, const TurnPlace& place, const tenancy::Caller& caller) {
  TurnKeeper::Turn kept{.key = place.key, .append = append_of(turn, place)};
  kept.branch = place.path;
  kept.tier = caller.tier->name;
  if (!kept.append.messages.empty())
    kept.parent_id = kept.append.messages.back().id;
  else if (!kept.branch.empty())
    kept.parent_id = kept.branch.back();
  return kept;
}

// Stores the turn's messages and generates no answer.
asio::awaitable<void> store_only(Service& service, Exchange& exchange, TurnRequest turn, TurnPlace place) {
  StoreWork<json::object> work =
      [key = place.key, append = append_of(turn, place)](store::Store& store) -> Result<json::object> {
    TRY_OK(store.conversations().append(key, append));
    json::array items;
    for (const store::Message& message : append.messages)
      items.push_back(message_object(message, key.id, {}));
    return list_object(std::move(items), false);
  };
  Result<json::object> stored = co_await run_on_store<json::object>(service, exchange, std::move(work));
  if (!stored.ok()) {
    co_await reply_error(exchange, stored.error());
    co_return;
  }
  net::HttpResponse response = net::HttpResponse::json(200, base::json_text(*stored));
  co_await reply(exchange, std::move(response));
}

// Parses a turn's body, which may be empty if an answer is to be generated again.
Result<json::object> parse_body(const Service& service, const std::string& body) {
  if (body.empty()) return json::object();
  return parse_object(body, service.options.max_json_depth);
}

// A turn after its place in the conversation has been looked up.
struct FoundTurn {
  TurnRequest request;
  TurnPlace place;
  std::size_t num_bytes = 0;  // size of the whole chat's text
};

asio::awaitable<Result<FoundTurn>> find_turn(Service& service, Exchange& exchange, std::string edited_id) {
  std::size_t num_bytes = exchange.request.body.size();
  exchange.num_body_bytes = num_bytes;
  auto text = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<json::object>::Work parse = [&service, text](const std::stop_token&) {
    return parse_body(service, *text);
  };
  Result<json::object> body =
      co_await run_text_work<json::object>(service.reading, exchange, num_bytes, std::move(parse));
  if (!body.ok()) co_return std::move(body).error();
  const Result<TurnTarget> target = read_turn_target(*body);
  if (!target.ok()) co_return target.error();
  const WantedPlace wanted{key_of(exchange), target->parent_id, edited_id, target->generate};
  StoreWork<TurnPlace> find = [wanted,
                               hold = exchange.request.body_hold](store::Store& store) -> Result<TurnPlace> {
    TRY(TurnPlace found, find_place(store.conversations(), wanted));
    TRY_OK(count_text(hold, bytes_of(found.branch)));
    return found;
  };
  Result<TurnPlace> place = co_await run_on_store<TurnPlace>(service, exchange, std::move(find));
  if (!place.ok()) co_return std::move(place).error();
  num_bytes += bytes_of(place->branch);
  TextTask<TurnRequest>::Work work = [body = std::move(*body), place = *place](const std::stop_token&) {
    return read_turn(body, place);
  };
  Result<TurnRequest> turn =
      co_await run_text_work<TurnRequest>(service.reading, exchange, num_bytes, std::move(work));
  if (!turn.ok()) co_return std::move(turn).error();
  FoundTurn found{std::move(*turn), std::move(*place), num_bytes};
  co_return found;
}

asio::awaitable<void> add_turn(Service& service, Exchange& exchange, std::string edited_id) {
  Result<FoundTurn> turn = co_await find_turn(service, exchange, std::move(edited_id));
  if (!turn.ok()) {
    co_await reply_error(exchange, turn.error());
    co_return;
  }
  if (!turn->request.chat) {
    co_await store_only(service, exchange, std::move(turn->request), std::move(turn->place));
    co_return;
  }
  MakeShape make_shape = chat_shape(*turn->request.chat);
  Question question(std::move(*turn->request.chat), std::move(make_shape));
  question.keeper = std::make_shared<TurnKeeper>(service, exchange.responder.executor(),
                                                 kept_turn(turn->request, turn->place, exchange.caller));
  question.num_other_bytes = turn->num_bytes - exchange.num_body_bytes;
  question.num_unread_messages = static_cast<int>(turn->place.path.size() - turn->place.branch.size());
  co_await answer(service, exchange, kChatAnswer, std::move(question));
}

}  // namespace

asio::awaitable<void> handle_add_message(Service& service, Exchange& exchange) {
  return add_turn(service, exchange, "");
}

asio::awaitable<void> handle_edit_message(Service& service, Exchange& exchange) {
  return add_turn(service, exchange, exchange.parameter("message_id"));
}

}  // namespace kvasir::api
