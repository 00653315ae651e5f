#include <memory>
#include <string>
#include <utility>

#include "api/batches/batch_lines.h"
#include "api/batches/batch_request.h"
#include "api/batches/endpoints.h"
#include "api/http/json/metadata.h"
#include "api/http/json/object_schema.h"
#include "api/http/json/page_query.h"
#include "api/http/service/request_id.h"
#include "api/http/work/answer_by_store.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;
using store::BatchStatus;

namespace {

constexpr Field<store::Batch> kBatchesFields[] = {
    {"input_file_id",
     [](const json::value& v, store::Batch& b) -> Status {
       TRY(b.input_file_id, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "A file with the purpose `batch`."})", "the id of a file"},
    {"endpoint",
     [](const json::value& v, store::Batch& b) -> Status {
       TRY(b.endpoint, read_string(v));
       if (!is_batch_endpoint(b.endpoint))
         return wrong_value("expected /v1/chat/completions or /v1/completions");
       return base::ok();
     },
     R"({"enum": ["/v1/chat/completions", "/v1/completions"]})", "an endpoint's path"},
    {"completion_window",
     [](const json::value& v, store::Batch& b) -> Status {
       TRY(b.completion_window, read_string(v));
       if (b.completion_window != "24h") return wrong_value("expected 24h");
       return base::ok();
     },
     R"({"const": "24h"})", "24h"},
    {"metadata",
     [](const json::value& v, store::Batch& b) -> Status {
       TRY(const json::object metadata, read_metadata(v));
       b.metadata = base::json_text(metadata);
       return base::ok();
     },
     kMetadataSchema},
};

}  // namespace

json::object batch_request_schema() {
  return ObjectSchema().add<store::Batch>(kBatchesFields).take();
}

asio::awaitable<void> handle_create_batch(Service& service, Exchange& exchange) {
  StorePlan plan = [&service, tenant = exchange.caller.tenant](
                       const std::string& body) -> Result<StoreWork<json::object>> {
    TRY(const json::object object, parse_object(body, service.options.max_json_depth));
    store::Batch batch;
    TRY_OK(read_fields<store::Batch>(object, kBatchesFields, batch));
    batch.id = make_answer_id("batch_");
    batch.tenant = tenant;
    batch.created_ms = now_ms();
    return StoreWork<json::object>([batch](store::Store& store) -> Result<json::object> {
      Result<store::File> input = store.files().find({batch.tenant, batch.input_file_id});
      if (!input.ok()) return in_field("input_file_id", std::move(input).error());
      if (input->purpose != "batch")
        return in_field("input_file_id", wrong_value("the file's purpose is not `batch`"));
      TRY_OK(store.batches().add(batch));
      return batch_object(batch);
    });
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_batch(Service& service, Exchange& exchange) {
  StoreWork<json::object> work = [key = key_of(exchange)](store::Store& store) -> Result<json::object> {
    TRY(const store::Batch batch, store.batches().find(key));
    return batch_object(batch);
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_list_batches(Service& service, Exchange& exchange) {
  Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  StoreWork<json::object> work =
      [page = query->page, tenant = exchange.caller.tenant](store::Store& store) -> Result<json::object> {
    TRY(const store::Page<store::Batch> found, store.batches().list(tenant, page));
    json::array items;
    for (const store::Batch& batch : found.items) items.push_back(batch_object(batch));
    return list_object(std::move(items), found.has_more);
  };
  co_await answer_by(service, exchange, std::move(work));
}

// Cancels a batch: running lines are stopped. The output has the lines that were finished.
asio::awaitable<void> handle_cancel_batch(Service& service, Exchange& exchange) {
  StoreWork<json::object> work = [key = key_of(exchange)](store::Store& store) -> Result<json::object> {
    TRY(const store::Batch batch, store.batches().find(key));
    if (batch.status == BatchStatus::cancelling || batch.status == BatchStatus::cancelled)
      return batch_object(batch);
    TRY(const store::Batch cancelling,
        store.batches().advance(key, {BatchStatus::validating, BatchStatus::in_progress},
                                BatchStatus::cancelling, now_ms()));
    return batch_object(cancelling);
  };
  return answer_by(service, exchange, std::move(work));
}

}  // namespace kvasir::api
