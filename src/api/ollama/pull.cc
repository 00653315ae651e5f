#include <cstdint>
#include <string>
#include <utility>

#include "api/answer/write/streams.h"
#include "api/http/json/object_schema.h"
#include "api/http/work/model_change.h"
#include "api/http/work/read_body.h"
#include "api/http/work/store_task.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_shape.h"
#include "api/ollama/served_name.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

struct PullRequest {
  std::string model;
  bool stream = true;
};

Status read_pull_name(const json::value& value, PullRequest& request) {
  TRY(const std::string name, read_string(value));
  request.model = without_latest(name);
  return base::ok();
}

constexpr Field<PullRequest> kPullFields[] = {
    {"name", read_pull_name, R"({"type": "string", "description": "As `model`."})"},
    {"model", read_pull_name,
     R"({"type": "string", "description": "A model of the server's catalogues, which `kvasir models` lists."})"},
    {"stream",
     [](const json::value& v, PullRequest& r) -> Status {
       TRY(r.stream, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true})"},
    {"insecure",
     [](const json::value& v, PullRequest&) -> Status {
       TRY_OK(read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "description": "It has no effect: files are checked by their digests."})"},
};

Result<PullRequest> read_pull(json::object body) {
  PullRequest request;
  TRY_OK(read_fields<PullRequest>(body, kPullFields, request));
  if (request.model.empty()) return in_field("model", missing("the name of a model"));
  return request;
}

std::string status_line(std::string_view status) {
  return base::json_text(json::object{{"status", status}}) + "\n";
}

// Writes the lines about one model's files.
class PullLines {
 public:
  explicit PullLines(const hub::Model& model) : model_(model) {}

  // Returns no line if there is no progress to report.
  std::string progress(const router::ModelState& state) const {
    const bool comes = state.phase == router::Phase::downloading && state.total_bytes > 0;
    return comes && model_.entry != nullptr ? bytes(state.done_bytes, state.total_bytes) : "";
  }

  // A model that is not in the catalogue is a local file: nothing was fetched or verified.
  std::string ending() const {
    if (model_.entry == nullptr) return status_line("success");
    const std::uint64_t size = model_.entry->size();
    return bytes(size, size) + status_line("verifying sha256 digest") + status_line("success");
  }

 private:
  std::string bytes(std::uint64_t done, std::uint64_t total) const {
    const std::string& digest = model_.entry->files.front().sha256;
    return base::json_text(json::object{{"status", "pulling " + digest.substr(0, 12)},
                                        {"digest", "sha256:" + digest},
                                        {"total", total},
                                        {"completed", done}}) +
           "\n";
  }

  const hub::Model& model_;
};

asio::awaitable<Result<hub::Model>> find_model(Service& service, Exchange& exchange, std::string name) {
  StoreWork<hub::Model> find = [&residence = *service.residence, name](store::Store&) {
    return residence.find(name);
  };
  Result<hub::Model> model = co_await run_on_store<hub::Model>(service, exchange, std::move(find));
  if (model.ok() || model.error().code != ErrorCode::not_found) co_return model;
  Error unknown = std::move(model).error();
  unknown.message = "pull model manifest: " + unknown.message;
  co_return unknown;
}

asio::awaitable<void> stream_pull(Exchange& exchange, ModelChange& change, const hub::Model& model) {
  Result<net::SseWriter*> writer = co_await start_stream(exchange, kLines);
  if (!writer.ok()) co_return;
  Status written = co_await (*writer)->write(status_line("pulling manifest"));
  if (!written.ok()) co_return;
  const PullLines lines(model);
  const ModelStory story{**writer,
                         [&lines](const router::ModelState& state) { return lines.progress(state); }, " "};
  const Status done = co_await change.follow(&story);
  if (!done.ok() && done.error().code == ErrorCode::cancelled) co_return;
  if (!done.ok()) note_error(exchange, done.error());
  const std::string last = done.ok() ? lines.ending() : error_event(done.error(), ErrorStyle::ollama);
  written = co_await (*writer)->write(last);
  if (written.ok()) (void)co_await (*writer)->finish();
}

}  // namespace

asio::awaitable<void> handle_ollama_pull(Service& service, Exchange& exchange) {
  Result<PullRequest> request = co_await read_body<PullRequest>(service, exchange, read_pull);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  if (service.residence == nullptr)
    co_return co_await reply_error(exchange, not_supported("pulling models here is"));
  const Result<hub::Model> model = co_await find_model(service, exchange, request->model);
  if (!model.ok()) co_return co_await reply_error(exchange, model.error());
  exchange.model = model->name;
  ModelChange change(service, exchange, model->name, ModelWish::pulled);
  const Status begun = co_await change.begin();
  if (!begun.ok()) co_return co_await reply_error(exchange, begun.error());
  if (request->stream) co_return co_await stream_pull(exchange, change, *model);
  const Status done = co_await change.follow(nullptr);
  if (!done.ok()) co_return co_await reply_error(exchange, done.error());
  const json::object body{{"status", "success"}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(body)));
}

asio::awaitable<void> handle_ollama_not_offered(Service&, Exchange& exchange) {
  Error error = Error{ErrorCode::not_found,
                      "this server's models are not made, copied, pushed or deleted over HTTP; start it with "
                      "--model NAME or a path",
                      {},
                      "not_offered"};
  co_await reply_error(exchange, std::move(error));
}

json::object ollama_pull_schema() {
  return ObjectSchema().add<PullRequest>(kPullFields).take();
}

}  // namespace kvasir::api
