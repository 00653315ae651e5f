#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "api/answer/read_body.h"
#include "api/answer/streams.h"
#include "api/http/key_watch.h"
#include "api/http/object_schema.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_shape.h"
#include "api/ollama/served_name.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using Pull = ModelPulls::Pull;

namespace {

constexpr std::chrono::milliseconds kLookInterval{100};

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

// Tells one client how a pull goes. Each thing is told once.
class PullStory {
 public:
  PullStory(const Service& service, const Pull& pull) : service_(service), entry_(pull.entry()) {}

  // Nothing where nothing has changed.
  std::string lines(const Pull::Progress& progress) {
    std::string lines;
    for (const std::string& note : progress.notes) lines += status_line(note);
    if (progress.total > 0 && (progress.done != done_ || progress.total != total_)) {
      done_ = progress.done;
      total_ = progress.total;
      const std::string& digest = entry_.files.front().sha256;
      lines += base::json_text(json::object{{"status", "pulling " + digest.substr(0, 12)},
                                            {"digest", "sha256:" + digest},
                                            {"total", total_},
                                            {"completed", done_}}) +
               "\n";
    }
    return lines;
  }

  std::string ending() const {
    std::string lines = status_line("verifying sha256 digest");
    if (!service_.router.has(entry_.name))
      lines +=
          status_line(fmt::format("the server serves it when it is started with --model {}", entry_.name));
    return lines + status_line("success");
  }

 private:
  const Service& service_;
  const hub::Entry& entry_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

// Waits until the pull ends, and writes what happens meanwhile if there is a writer. cancelled: the client
// has left.
asio::awaitable<Status> follow(Service& service, Exchange& exchange, Pull& pull, net::SseWriter* writer) {
  asio::steady_timer timer(exchange.responder.executor());
  KeyWatch watch(service, exchange);
  bool left = false;
  const auto wake = [&timer] { timer.cancel(); };
  watch.on_end(wake);
  exchange.responder.on_disconnect([&left, wake] {
    left = true;
    wake();
  });
  PullStory story(service, pull);
  Status ended = base::error(ErrorCode::cancelled, "the client left");
  while (!left) {
    const Pull::Progress progress = pull.look();
    std::string lines = story.lines(progress);
    if (progress.ended && progress.ended->ok()) lines += story.ending();
    if (writer != nullptr && !lines.empty()) {
      const Status written = co_await writer->write(std::move(lines));
      if (!written.ok()) break;
    }
    if (progress.ended || watch.ended() || service.drains()) {
      ended = progress.ended ? *progress.ended : watch.ended() ? watch.why() : draining_error(service);
      break;
    }
    timer.expires_after(kLookInterval);
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  exchange.responder.on_disconnect({});
  pull.give_up();
  co_return ended;
}

// A full disk is this server's trouble, not too many requests of the client's.
Error pull_error(Error error) {
  if (error.code == ErrorCode::exhausted) {
    error.code = ErrorCode::io;
    error.reason = "storage_full";
  }
  return error;
}

asio::awaitable<void> stream_pull(Service& service, Exchange& exchange, std::shared_ptr<Pull> pull) {
  Result<net::SseWriter*> writer = co_await start_stream(exchange, kLines);
  if (!writer.ok()) {
    pull->give_up();
    co_return;
  }
  Status written = co_await (*writer)->write(status_line("pulling manifest"));
  if (!written.ok()) {
    pull->give_up();
    co_return;
  }
  Status ended = co_await follow(service, exchange, *pull, *writer);
  pull->give_up();
  if (!ended.ok()) {
    const Error error = pull_error(std::move(ended).error());
    note_error(exchange, error);
    std::string line = error_event(error, ErrorStyle::ollama);
    written = co_await (*writer)->write(std::move(line));
    if (!written.ok()) co_return;
  }
  (void)co_await (*writer)->finish();
}

}  // namespace

asio::awaitable<void> handle_ollama_pull(Service& service, Exchange& exchange) {
  Result<PullRequest> request = co_await read_body<PullRequest>(service, exchange, read_pull);
  if (!request.ok()) co_return co_await reply_error(exchange, std::move(request).error());
  Result<std::shared_ptr<Pull>> pull = service.pulls.begin(request->model);
  if (!pull.ok()) co_return co_await reply_error(exchange, std::move(pull).error());
  if (request->stream) co_return co_await stream_pull(service, exchange, std::move(*pull));
  Status ended = co_await follow(service, exchange, **pull, nullptr);
  if (!ended.ok()) {
    Error error = pull_error(std::move(ended).error());
    co_return co_await reply_error(exchange, std::move(error));
  }
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
