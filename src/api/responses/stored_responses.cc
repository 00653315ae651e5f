#include "api/responses/stored_responses.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/streams.h"
#include "api/http/answer_by_store.h"
#include "api/http/object_schema.h"
#include "api/http/page_query.h"
#include "api/http/store_task.h"
#include "api/responses/endpoints.h"
#include "api/responses/input_items.h"
#include "api/responses/referenced_items.h"
#include "api/responses/response_events.h"
#include "tenancy/admission.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxShownId = 100;
constexpr std::int64_t kMaxEventNumber = 1'000'000'000;

void append(json::array& to, json::array from) {
  for (json::value& item : from) to.push_back(std::move(item));
}

// Answers with the text that `work` returns.
asio::awaitable<void> reply_from_store(Service& service, Exchange& exchange, StoreWork<std::string> work) {
  Result<std::string> body = co_await run_on_store<std::string>(service, exchange, std::move(work));
  if (!body.ok()) {
    co_await reply_error(exchange, body.error());
    co_return;
  }
  co_await reply(exchange, net::HttpResponse::json(200, std::move(*body)));
}

struct ResponseQuery {
  bool stream = false;
  std::optional<std::int64_t> starting_after;  // number of an event
};

constexpr Field<ResponseQuery> kResponseQuery[] = {
    {"stream",
     [](const json::value& v, ResponseQuery& q) -> Status {
       TRY(q.stream, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false})"},
    {"starting_after",
     [](const json::value& v, ResponseQuery& q) -> Status {
       TRY(q.starting_after, read_integer(v, {0, kMaxEventNumber}));
       return base::ok();
     },
     R"({"type": "integer", "minimum": 0, "description": "The number of an event: those after it are sent."})"},
};

// Sends the original events if they are still in memory. Otherwise makes events of the stored response.
asio::awaitable<void> stream_response(Service& service, Exchange& exchange,
                                      std::optional<std::int64_t> starting_after) {
  const std::string id = exchange.parameter("id");
  const std::int64_t last_seen = starting_after.value_or(-1);
  Result<std::shared_ptr<EventLog>> log = service.streams.find(key_of(exchange));
  // Where the first ones have given way, a reader that wants them all gets them made anew.
  if (log.ok() && id.starts_with("resp_") && (starting_after || !(*log)->ended() || (*log)->has_all())) {
    co_await replay_log(service, exchange, std::move(*log), static_cast<std::uint64_t>(last_seen + 1));
    co_return;
  }
  StoreWork<std::string> work = [key = key_of(exchange),
                                 last_seen](store::Store& store) -> Result<std::string> {
    TRY(const store::StoredAnswer found, find_response(store, key));
    TRY(const json::value body, base::parse_json(found.body, kStoredJson));
    if (!body.is_object()) return base::error(ErrorCode::corrupt, "a stored response is no object");
    return replayed_events(body.get_object(), last_seen);
  };
  Result<std::string> events = co_await run_on_store<std::string>(service, exchange, std::move(work));
  if (!events.ok()) {
    co_await reply_error(exchange, std::move(events).error());
    co_return;
  }
  if (!exchange.responder.reserve(events->size())) {
    co_await reply_error(exchange, answers_overloaded());
    co_return;
  }
  Result<net::SseWriter*> writer = co_await start_stream(exchange);
  if (!writer.ok()) co_return;
  const Status written = co_await (*writer)->write(std::move(*events));
  if (written.ok()) (void)co_await (*writer)->finish();
}

}  // namespace

base::Error as_missing(Error error, const std::string& id) {
  if (error.code == ErrorCode::too_large) error.reason = "history_too_large";
  if (error.code != ErrorCode::not_found) return error;
  error.message = fmt::format("Response with id '{}' not found.", id.substr(0, kMaxShownId));
  error.field.clear();
  error.reason = "response_not_found";
  return error;
}

Result<json::array> list_of(const std::string& text, std::string_view member) {
  Result<json::value> value = base::parse_json(text, kStoredJson);
  json::value* list = value.ok() ? &*value : nullptr;
  if (list != nullptr && !member.empty())
    list = list->is_object() ? list->get_object().if_contains(member) : nullptr;
  if (list == nullptr || !list->is_array())
    return base::error(ErrorCode::corrupt, "a stored response has no list of items");
  return std::move(list->get_array());
}

Result<store::StoredAnswer> find_response(store::Store& store, const store::Key& key) {
  auto found = store.answers().find(key, now_ms());
  if (!found.ok()) return as_missing(std::move(found).error(), key.id);
  if (found->kind != "response") return as_missing(Error{ErrorCode::not_found, ""}, key.id);
  return found;
}

Result<json::array> items_up_to(store::Store& store, const store::Key& key) {
  auto chain = store.answers().chain(key, now_ms(), kMaxChain);
  if (!chain.ok()) return as_missing(std::move(chain).error(), key.id);
  json::array items;
  for (const store::StoredAnswer& answer : *chain) {
    if (answer.kind != "response") return as_missing(Error{ErrorCode::not_found, ""}, key.id);
    TRY(json::array input, list_of(answer.input, ""));
    TRY(json::array output, list_of(answer.body, "output"));
    append(items, std::move(input));
    append(items, std::move(output));
  }
  TRY_OK(resolve_references(store, key.tenant, items));
  return items;
}

std::string item_id(std::string_view prefix, std::string_view response_id, std::size_t index) {
  return fmt::format("{}{}_{}", prefix, response_id.substr(response_id.find('_') + 1), index);
}

json::object response_query_schema() {
  return ObjectSchema().add<ResponseQuery>(kResponseQuery).take();
}

asio::awaitable<void> handle_get_response(Service& service, Exchange& exchange) {
  ResponseQuery query;
  Status read = read_query<ResponseQuery>(exchange.request.query, kResponseQuery, query);
  if (read.ok() && query.starting_after && !query.stream)
    read = in_field("starting_after", wrong_value("only allowed together with \"stream\""));
  if (!read.ok()) {
    co_await reply_error(exchange, read.error());
    co_return;
  }
  if (query.stream) {
    co_await stream_response(service, exchange, query.starting_after);
    co_return;
  }
  StoreWork<std::string> work = [key = key_of(exchange)](store::Store& store) -> Result<std::string> {
    TRY(store::StoredAnswer found, find_response(store, key));
    return std::move(found.body);
  };
  co_await reply_from_store(service, exchange, std::move(work));
}

asio::awaitable<void> handle_delete_response(Service& service, Exchange& exchange) {
  StoreWork<std::string> work = [&service,
                                 key = key_of(exchange)](store::Store& store) -> Result<std::string> {
    TRY(const store::StoredAnswer found, find_response(store, key));
    TRY_OK(store.answers().remove(key));
    service.streams.forget(key);
    return base::json_text(json::object{{"id", found.id}, {"object", "response"}, {"deleted", true}});
  };
  return reply_from_store(service, exchange, std::move(work));
}

asio::awaitable<void> handle_response_items(Service& service, Exchange& exchange) {
  const auto query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  StoreWork<std::string> work = [key = key_of(exchange),
                                 page = query->page](store::Store& store) -> Result<std::string> {
    TRY(const json::object list, input_item_page(store, key, page));
    return base::json_text(list);
  };
  co_await reply_from_store(service, exchange, std::move(work));
}

}  // namespace kvasir::api
