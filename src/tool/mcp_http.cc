#include "tool/mcp_http.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "net/sse_reader.h"
#include "tool/exchange.h"

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxRefusalBytes = 1024;
constexpr std::chrono::seconds kAnswerTimeout{2};
constexpr int kMaxAlone = 32;  // messages in flight that no call waits for
// Interval between checks while another call opens a session.
constexpr std::chrono::milliseconds kLook{20};

bool is_session_lost(const base::Error& error) {
  return error.reason == "session_lost";
}

}  // namespace

// Reads the answer to one POST as it arrives.
class McpHttp::Reading {
 public:
  Reading(McpHttp& transport, std::int64_t id) : transport_(transport), id_(id) {}

  Status head(const net::HttpReply& reply) {
    status_ = reply.status;
    streamed_ = reply.header("content-type").starts_with("text/event-stream");
    session_ = reply.header("mcp-session-id");
    return base::ok();
  }
  Status body(std::string_view bytes) {
    if (streamed_ && good()) return events_.feed(bytes);
    const std::size_t room = (good() ? kMaxMessageBytes : kMaxRefusalBytes) - text_.size();
    text_ += bytes.substr(0, room);
    if (bytes.size() <= room) return base::ok();
    return base::error(ErrorCode::too_large, "the tool server sent a message that is too long");
  }
  bool good() const { return status_ >= 200 && status_ <= 299; }
  int status() const { return status_; }
  const std::string& text() const { return text_; }
  const std::string& session() const { return session_; }
  bool answered() const { return answer_.has_value(); }

  // Takes the answer. Call this after the last byte of the reply.
  Result<json::object> take() {
    if (!streamed_ && !text_.empty()) TRY_OK(message(text_));
    if (!answer_) return base::error(ErrorCode::corrupt, "the tool server sent no answer");
    return result_of(std::move(*answer_));
  }

 private:
  Status event(std::string_view data) {
    TRY_OK(message(data));
    // The answer has arrived, so the rest of the stream is not read.
    return answer_ ? Status(base::error(ErrorCode::cancelled, "answered")) : base::ok();
  }
  Status message(std::string_view data) {
    TRY(std::vector<json::object> messages, read_messages(data));
    for (json::object& one : messages) take_one(std::move(one));
    return base::ok();
  }
  void take_one(json::object one) {
    if (one.contains("method")) return transport_.take_from_server(one);
    const json::value* id = one.if_contains("id");
    if (id != nullptr && id->is_int64() && id->get_int64() == id_) answer_ = std::move(one);
  }

  McpHttp& transport_;
  const std::int64_t id_;
  int status_ = 0;
  bool streamed_ = false;
  std::string session_;
  std::string text_;
  std::optional<json::object> answer_;
  net::SseReader events_{kMaxMessageBytes, [this](std::string_view data) { return event(data); }};
};

McpHttp::McpHttp(net::Url url, const config::ToolConfig::Pairs& headers, Surroundings surroundings,
                 McpEvents events)
    : url_(std::move(url)),
      headers_(headers),
      surroundings_(std::move(surroundings)),
      events_(std::move(events)) {}

std::shared_ptr<McpHttp> McpHttp::make(net::Url url, const config::ToolConfig::Pairs& headers,
                                       Surroundings surroundings, McpEvents events) {
  return std::shared_ptr<McpHttp>(
      new McpHttp(std::move(url), headers, std::move(surroundings), std::move(events)));
}

net::HttpCall McpHttp::call_with(std::string body) const {
  net::HttpCall call;
  call.method = "POST";
  call.url = url_;
  for (const auto& [name, value] : headers_) call.headers.emplace_back(name, value);
  call.headers.emplace_back("Content-Type", "application/json");
  call.headers.emplace_back("Accept", "application/json, text/event-stream");
  if (!session_.empty()) call.headers.emplace_back("Mcp-Session-Id", session_);
  if (!version_.empty()) call.headers.emplace_back("MCP-Protocol-Version", version_);
  call.body = std::move(body);
  return call;
}

// An id of 0 means that the message has no answer.
asio::awaitable<Result<json::object>> McpHttp::post(std::int64_t id, const json::object& message,
                                                    Lifeline& line) {
  net::HttpCall call = call_with(base::json_text(message));
  add_trace(trace_of(message), call);
  const bool in_session = !session_.empty();
  Reading reading(*this, id);
  net::ReplySink sink;
  sink.head = [&reading](const net::HttpReply& reply) { return reading.head(reply); };
  sink.body = [&reading](std::string_view bytes) { return reading.body(bytes); };
  Result<net::HttpReply> reply = co_await exchange(surroundings_, call, sink, line);
  if (!reply.ok() && !reading.answered() && (reading.status() == 0 || reading.good())) {
    if (reply.error().code == ErrorCode::unavailable && !std::exchange(lost_, true)) events_.lost();
    co_return std::move(reply).error();
  }
  if (reading.status() == 404 && in_session)
    co_return base::Error{
        ErrorCode::not_found, "the tool server has forgotten the session", {}, "session_lost"};
  if (!reading.good())
    co_return base::error(ErrorCode::io, "the tool server answered with status {}: {}", reading.status(),
                          bounded_text(reading.text(), kMaxRefusalBytes));
  if (!reading.session().empty()) session_ = reading.session();
  if (id == 0) co_return json::object();
  co_return reading.take();
}

asio::awaitable<Result<json::object>> McpHttp::request(std::string_view method, json::object params,
                                                       Lifeline& line) {
  const auto self = shared_from_this();
  const json::object message = request_message(next_id_++, method, std::move(params));
  const std::int64_t id = message.at("id").as_int64();
  const bool opens = method == "initialize";
  if (opens) session_.clear();
  const std::string used = session_;
  Result<json::object> result = co_await post(id, message, line);
  if (!result.ok() && !opens && is_session_lost(result.error())) {
    Status opened = co_await reopen_session(used, line);
    if (!opened.ok()) co_return std::move(opened).error();
    result = co_await post(id, message, line);
  }
  if (!result.ok() && line.over() && !opens) {
    json::object cancelled = notification_message("notifications/cancelled",
                                                  {{"requestId", id}, {"reason", line.error().message}});
    send_soon(std::move(cancelled));
  }
  co_return result;
}

asio::awaitable<Status> McpHttp::reopen_session(std::string forgotten, Lifeline& line) {
  asio::steady_timer pause(surroundings_.executor);
  while (opening_ && !line.over()) {
    pause.expires_after(kLook);
    boost::system::error_code ignored;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (line.over()) co_return line.error();
  if (session_ != forgotten) co_return base::ok();  // another call has opened a new session meanwhile
  opening_ = true;
  Status opened = co_await open_session(*this, line);
  opening_ = false;
  // A session that is only half open is useless, so the owner must reconnect.
  if (!opened.ok() && !std::exchange(lost_, true)) events_.lost();
  co_return opened;
}

void McpHttp::send_soon(json::object message) {
  if (num_alone_ >= kMaxAlone) return;
  ++num_alone_;
  asio::co_spawn(surroundings_.executor, send_alone(std::move(message)),
                 [self = shared_from_this()](const std::exception_ptr&) { --self->num_alone_; });
}

asio::awaitable<Status> McpHttp::notify(std::string_view method, json::object params, Lifeline& line) {
  const auto self = shared_from_this();
  const json::object message = notification_message(method, std::move(params));
  Result<json::object> sent = co_await post(0, message, line);
  if (!sent.ok()) co_return std::move(sent).error();
  co_return base::ok();
}

void McpHttp::take_from_server(const json::object& message) {
  if (message.contains("id")) return send_soon(answer_to(message));
  if (message.at("method") == "notifications/tools/list_changed") events_.tools_changed();
}

asio::awaitable<void> McpHttp::send_alone(json::object message) {
  const auto self = shared_from_this();
  Lifeline line(surroundings_.executor, kAnswerTimeout);
  (void)co_await post(0, message, line);
}

asio::awaitable<void> McpHttp::close(Lifeline& line) {
  const auto self = shared_from_this();
  events_ = {};
  if (session_.empty() || lost_) co_return;
  net::HttpCall call = call_with("");
  call.method = "DELETE";
  const net::ReplySink sink;
  (void)co_await exchange(surroundings_, call, sink, line);
}

}  // namespace kvasir::tool
