#include "api/responses/stored_responses.h"

#include <algorithm>
#include <cstdint>
#include <map>
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
#include "api/responses/response_events.h"
#include "tenancy/admission.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr int kMaxChain = 1000;  // responses that go on from one another
constexpr std::int64_t kMaxEventNumber = 1'000'000'000;
// Of items that references stand for, and of the responses that they are looked up in.
constexpr std::size_t kMaxReferencedBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxShownId = 100;

Error as_missing(Error error, const std::string& id) {
  if (error.code == ErrorCode::too_large) error.reason = "history_too_large";
  if (error.code != ErrorCode::not_found) return error;
  error.message = fmt::format("Response with id '{}' not found.", id.substr(0, kMaxShownId));
  error.field.clear();
  error.reason = "response_not_found";
  return error;
}

// A list that a row of the store holds as JSON.
Result<json::array> list_of(const std::string& text, std::string_view member) {
  TRY(json::value value, base::parse_json(text, kStoredJson));
  json::value* list = &value;
  if (!member.empty()) list = value.is_object() ? value.get_object().if_contains(member) : nullptr;
  if (list == nullptr || !list->is_array())
    return base::error(ErrorCode::corrupt, "a stored response has no list of items");
  return std::move(list->get_array());
}

void append(json::array& to, json::array from) {
  for (json::value& item : from) to.push_back(std::move(item));
}

Result<store::StoredAnswer> find_response(store::Store& store, const store::Key& key) {
  auto found = store.answers().find(key, now_ms());
  if (!found.ok()) return as_missing(std::move(found).error(), key.id);
  if (found->kind != "response") return as_missing(Error{ErrorCode::not_found, ""}, key.id);
  return found;
}

// Of what the chain had before this response, and of its own input.
Result<json::array> input_items(store::Store& store, const store::Key& key) {
  TRY(const store::StoredAnswer own, find_response(store, key));
  json::array items;
  if (!own.previous_id.empty()) {
    TRY(items, items_up_to(store, {key.tenant, own.previous_id}));
  }
  TRY(json::array last, list_of(own.input, ""));
  TRY_OK(resolve_references(store, key.tenant, last));
  append(items, std::move(last));
  return items;
}

bool has_id(const json::value& item, std::string_view id) {
  const json::value* own = item.is_object() ? item.get_object().if_contains("id") : nullptr;
  return own != nullptr && own->is_string() && own->get_string() == id;
}

bool is_reference(const json::value& item) {
  const json::value* type = item.is_object() ? item.get_object().if_contains("type") : nullptr;
  return type != nullptr && *type == "item_reference";
}

// Of an item's text: nothing that goes on from it needs them.
void drop_logprobs(json::value& item) {
  json::value* content = item.is_object() ? item.get_object().if_contains("content") : nullptr;
  if (content == nullptr || !content->is_array()) return;
  for (json::value& part : content->get_array())
    if (part.is_object()) part.get_object().erase("logprobs");
}

// Looks items up, each response once. Many short references can stand for long items, so their bytes are
// counted.
class ReferencedItems {
 public:
  ReferencedItems(store::Store& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}

  Result<json::value> find(const json::object& reference) {
    const json::value* id = reference.if_contains("id");
    if (id == nullptr || !id->is_string()) return in_field("input", missing("the \"id\" of an item"));
    const std::string text(id->get_string());
    TRY(const Outputs* output, output_of(text));
    const auto found = output->find(text);
    if (found == output->end())
      return Error{ErrorCode::not_found,
                   fmt::format("Item with id '{}' not found.", text.substr(0, kMaxShownId)), "input",
                   "item_not_found"};
    TRY_OK(count(found->second.num_bytes));
    return found->second.item;
  }

 private:
  struct Output {
    json::value item;
    std::size_t num_bytes = 0;
  };
  using Outputs = std::map<std::string, Output, std::less<>>;

  // "msg_X_2" is in the output of "resp_X".
  Result<const Outputs*> output_of(const std::string& item) {
    const std::size_t begin = item.find('_') + 1;
    const std::size_t end = item.rfind('_');
    const std::string id = begin == 0 || end <= begin ? "" : "resp_" + item.substr(begin, end - begin);
    const auto [known, is_new] = responses_.try_emplace(id);
    if (is_new && !id.empty()) TRY_OK(load(id, known->second));
    return &known->second;
  }

  Status load(const std::string& id, Outputs& outputs) {
    auto response = find_response(store_, {tenant_, id});
    if (!response.ok() && response.error().code == ErrorCode::not_found) return base::ok();
    if (!response.ok()) return std::move(response).error();
    TRY_OK(count(response->body.size()));
    TRY(json::array items, list_of(response->body, "output"));
    for (json::value& item : items) {
      drop_logprobs(item);
      const json::value* own = item.is_object() ? item.get_object().if_contains("id") : nullptr;
      if (own == nullptr || !own->is_string()) continue;
      const std::string name(own->get_string());
      const std::size_t num_bytes = base::json_text(item).size();
      outputs[name] = {std::move(item), num_bytes};
    }
    return base::ok();
  }

  Status count(std::size_t num_bytes) {
    num_bytes_ += num_bytes;
    if (num_bytes_ <= kMaxReferencedBytes) return base::ok();
    return Error{ErrorCode::too_large,
                 fmt::format("the referenced items have more than {} bytes", kMaxReferencedBytes), "input",
                 "history_too_large"};
  }

  store::Store& store_;
  const std::string tenant_;
  std::map<std::string, Outputs, std::less<>> responses_;
  std::size_t num_bytes_ = 0;
};

Result<json::object> item_page(json::array items, const store::PageQuery& query) {
  if (query.order == store::Order::descending) std::reverse(items.begin(), items.end());
  auto begin = items.begin();
  auto end = items.end();
  const auto find = [&](const std::string& id) {
    return std::find_if(items.begin(), items.end(),
                        [&](const json::value& item) { return has_id(item, id); });
  };
  if (!query.after.empty()) {
    begin = find(query.after);
    if (begin == items.end()) return in_field("after", wrong_value("it names no item of this response"));
    ++begin;
  }
  if (!query.before.empty()) {
    end = find(query.before);
    if (end == items.end()) return in_field("before", wrong_value("it names no item of this response"));
  }
  json::array data;
  std::size_t num_bytes = 0;
  const auto limit = static_cast<std::size_t>(query.limit);
  for (; begin < end && data.size() < limit && num_bytes < store::kMaxPageBytes; ++begin) {
    num_bytes += base::json_text(*begin).size();
    data.push_back(std::move(*begin));
  }
  json::object page{{"object", "list"}, {"has_more", begin < end}};
  page["first_id"] = data.empty() ? json::value(nullptr) : data.front().at("id");
  page["last_id"] = data.empty() ? json::value(nullptr) : data.back().at("id");
  page["data"] = std::move(data);
  return page;
}

// Answers with the text that the work on the store gave.
asio::awaitable<void> reply_from_store(Service& service, Exchange& exchange, StoreWork<std::string> work) {
  Result<std::string> body =
      co_await run_on_store<std::string>(service, exchange.responder.executor(), std::move(work));
  if (!body.ok()) {
    co_await reply_error(exchange, body.error());
    co_return;
  }
  co_await reply(exchange, net::HttpResponse::json(200, std::move(*body)));
}

struct ResponseQuery {
  bool stream = false;
  std::optional<std::int64_t> starting_after;  // the number of an event
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

// The events as they were where they are still kept, otherwise made anew of what is stored.
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
  Result<std::string> events =
      co_await run_on_store<std::string>(service, exchange.responder.executor(), std::move(work));
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

bool has_references(const json::array& items) {
  return std::ranges::any_of(items, is_reference);
}

Status resolve_references(store::Store& store, const std::string& tenant, json::array& items) {
  ReferencedItems referenced(store, tenant);
  for (json::value& item : items) {
    if (!is_reference(item)) continue;
    TRY(item, referenced.find(item.get_object()));
  }
  return base::ok();
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
    TRY(json::array items, input_items(store, key));
    TRY(const json::object list, item_page(std::move(items), page));
    return base::json_text(list);
  };
  co_await reply_from_store(service, exchange, std::move(work));
}

}  // namespace kvasir::api
