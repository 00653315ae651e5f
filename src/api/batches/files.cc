#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/batches/endpoints.h"
#include "api/batches/multipart.h"
#include "api/http/json/page_query.h"
#include "api/http/service/request_id.h"
#include "api/http/work/answer_by_store.h"
#include "api/http/work/key_watch.h"
#include "base/utf8.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

namespace {

constexpr std::array<std::string_view, 6> kPurposes = {"assistants", "batch",     "evals",
                                                       "fine-tune",  "user_data", "vision"};

json::object file_object(const store::File& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.num_bytes},
          {"created_at", file.created_ms / 1000},
          {"expires_at", file.expires_ms == 0 ? json::value(nullptr) : json::value(file.expires_ms / 1000)},
          {"filename", file.name},
          {"purpose", file.purpose},
          {"status", "processed"}};
}

Result<StoreWork<json::object>> read_upload(const std::string& tenant, const std::string& content_type,
                                            const std::string& body) {
  TRY(std::vector<FormPart> parts, parse_form(content_type, body));
  store::File file;
  std::shared_ptr<std::string> contents;
  for (FormPart& part : parts) {
    if (part.name == "purpose") file.purpose = part.contents;
    if (part.name != "file") continue;
    file.name = part.filename.empty() ? "file" : part.filename;
    contents = std::make_shared<std::string>(std::move(part.contents));
  }
  if (!contents) return in_field("file", missing("the file's bytes"));
  if (std::find(kPurposes.begin(), kPurposes.end(), file.purpose) == kPurposes.end())
    return in_field("purpose",
                    wrong_value("expected assistants, batch, evals, fine-tune, user_data or vision"));
  if (base::utf8_valid_prefix(file.name) != file.name.size())
    return in_field("file", wrong_value("its name is not UTF-8"));
  file.id = make_answer_id("file-");
  file.tenant = tenant;
  file.created_ms = now_ms();
  file.num_bytes = static_cast<std::int64_t>(contents->size());
  return StoreWork<json::object>([file, contents](store::Store& store) -> Result<json::object> {
    TRY_OK(store.files().add(file, *contents));
    return file_object(file);
  });
}

// Sends a file piece by piece. If the file is deleted or the key ends meanwhile, the answer is cut off.
asio::awaitable<void> send_pieces(Service& service, Exchange& exchange, store::Key key,
                                  net::BodyWriter& writer) {
  const KeyWatch watch(service, exchange);
  for (std::int64_t number = 0; !writer.complete() && !watch.ended(); ++number) {
    StoreWork<std::string> read = [key, number](store::Store& store) -> Result<std::string> {
      TRY(std::string piece, store.files().piece(key, number));
      if (piece.empty()) return base::error(base::ErrorCode::corrupt, "a piece of the file is missing");
      return piece;
    };
    Result<std::string> piece = co_await run_on_store<std::string>(service, exchange, std::move(read));
    if (!piece.ok()) {
      note_error(exchange, piece.error());
      co_return;
    }
    const base::Status written = co_await writer.write(std::move(*piece));
    if (!written.ok()) co_return;
  }
}

}  // namespace

asio::awaitable<void> handle_create_file(Service& service, Exchange& exchange) {
  StorePlan plan = [type = std::string(exchange.request.header("content-type").value_or("")),
                    tenant = exchange.caller.tenant](const std::string& body) {
    return read_upload(tenant, type, body);
  };
  return answer_by_plan(service, exchange, std::move(plan));
}

asio::awaitable<void> handle_list_files(Service& service, Exchange& exchange) {
  Result<ListQuery> query = read_list_query(exchange.request.query, store::Order::descending);
  if (!query.ok()) {
    co_await reply_error(exchange, query.error());
    co_return;
  }
  StoreWork<json::object> work = [query = std::move(*query), tenant = exchange.caller.tenant](
                                     store::Store& store) -> Result<json::object> {
    TRY(const store::Page<store::File> found, store.files().list(tenant, query.purpose, query.page));
    json::array items;
    for (const store::File& file : found.items) items.push_back(file_object(file));
    return list_object(std::move(items), found.has_more);
  };
  co_await answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_file(Service& service, Exchange& exchange) {
  StoreWork<json::object> work = [key = key_of(exchange)](store::Store& store) -> Result<json::object> {
    TRY(const store::File file, store.files().find(key));
    return file_object(file);
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_delete_file(Service& service, Exchange& exchange) {
  StoreWork<json::object> work = [key = key_of(exchange)](store::Store& store) -> Result<json::object> {
    TRY_OK(store.files().remove(key));
    return json::object{{"id", key.id}, {"object", "file"}, {"deleted", true}};
  };
  return answer_by(service, exchange, std::move(work));
}

asio::awaitable<void> handle_file_content(Service& service, Exchange& exchange) {
  const store::Key key = key_of(exchange);
  const asio::any_io_executor executor = exchange.responder.executor();
  StoreWork<store::File> find = [key](store::Store& store) { return store.files().find(key); };
  const Result<store::File> file = co_await run_on_store<store::File>(service, executor, std::move(find));
  if (!file.ok()) {
    co_await reply_error(exchange, file.error());
    co_return;
  }
  const auto num_bytes = static_cast<std::uint64_t>(file->num_bytes);
  if (!exchange.responder.reserve(std::min<std::uint64_t>(num_bytes, store::kMaxPieceBytes))) {
    co_await reply_error(exchange, answers_overloaded());
    co_return;
  }
  net::HttpResponse head(200, "application/octet-stream", "");
  const Result<net::BodyWriter*> writer = co_await start_body(exchange, std::move(head), num_bytes);
  if (writer.ok()) co_await send_pieces(service, exchange, key, **writer);
}

}  // namespace kvasir::api
