#include "app/chat_client.h"

#include "app/json_member.h"
#include "base/json.h"
#include "net/sse_reader.h"

namespace kvasir::app {

namespace json = boost::json;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxTextBytes = 1024 * 1024;
constexpr std::size_t kMaxEventBytes = 1024 * 1024;

// The message in an API's error object, or the beginning of a body in another format.
base::Error server_error(int status, const std::string& body) {
  const auto parsed = base::parse_json(body);
  const json::value* error = parsed.ok() ? member(*parsed, "error") : nullptr;
  const std::string message = error != nullptr ? text_member(*error, "message") : "";
  return base::error(status == 503 || status == 429 ? ErrorCode::unavailable : ErrorCode::invalid_argument,
                     "the server answered {}: {}", status, message.empty() ? body.substr(0, 200) : message);
}

// Handles one event of a streamed completion. Sets `finished` if it ends the answer.
base::Status take_event(std::string_view data, const std::function<void(std::string_view)>& on_text,
                        bool& finished) {
  if (data == "[DONE]") {
    finished = true;
    return base::ok();
  }
  TRY(const json::value event, base::parse_json(data));
  if (const json::value* error = member(event, "error"))
    return base::error(ErrorCode::unavailable, "the server broke off: {}", text_member(*error, "message"));
  const json::value* choices = member(event, "choices");
  if (choices == nullptr || !choices->is_array() || choices->as_array().empty()) return base::ok();
  const json::value& choice = choices->as_array()[0];
  if (const json::value* delta = member(choice, "delta"))
    if (const std::string text = text_member(*delta, "content"); !text.empty()) on_text(text);
  if (!text_member(choice, "finish_reason").empty()) finished = true;
  return base::ok();
}

}  // namespace

ChatClient::ChatClient(const Options& options)
    : url_(options.url),
      api_key_(options.api_key),
      client_({.connect_timeout = std::chrono::seconds(5),
               .read_timeout = std::chrono::minutes(5),
               .ca_file = options.ca_file}) {}

base::Result<ChatClient> ChatClient::at(const Options& options) {
  std::string base = options.url;
  while (base.ends_with('/')) base.pop_back();
  if (base.ends_with("/v1")) base.resize(base.size() - 3);
  auto parsed = net::parse_url(base);
  if (!parsed.ok()) return base::error(ErrorCode::invalid_argument, "--url: {}", parsed.error().message);
  return ChatClient({base, options.api_key, options.ca_file});
}

base::Result<net::HttpCall> ChatClient::call(const std::string& path) const {
  net::HttpCall call;
  TRY(call.url, net::parse_url(url_ + path));
  if (!api_key_.empty()) call.headers.push_back({"Authorization", "Bearer " + api_key_});
  return call;
}

base::Error ChatClient::explain(const base::Error& error) const {
  if (error.code != ErrorCode::unavailable) return error;
  return base::error(ErrorCode::unavailable,
                     "no server at {}: {}\nStart one with 'kvasir serve', or name another with --url.", url_,
                     error.message);
}

base::Result<std::vector<ServedModel>> ChatClient::models(std::stop_token stop) const {
  TRY(const net::HttpCall request, call("/v1/models"));
  const auto answer = client_.text(request, kMaxTextBytes, stop);
  if (!answer.ok()) return explain(answer.error());
  if (answer->reply.status != 200) return server_error(answer->reply.status, answer->body);
  TRY(const json::value list, base::parse_json(answer->body));
  std::vector<ServedModel> models;
  if (const json::value* data = member(list, "data"); data != nullptr && data->is_array())
    for (const json::value& one : data->as_array()) {
      const json::value* ready = member(one, "ready");
      const bool is_ready = ready == nullptr || !ready->is_bool() || ready->as_bool();
      if (std::string id = text_member(one, "id"); !id.empty()) models.push_back({std::move(id), is_ready});
    }
  if (models.empty()) return base::error(ErrorCode::not_found, "the server at {} has no models", url_);
  return models;
}

base::Status ChatClient::ask(const ChatWish& wish, const std::vector<ChatMessage>& messages,
                             const std::function<void(std::string_view)>& on_text,
                             std::stop_token stop) const {
  TRY(net::HttpCall request, call("/v1/chat/completions"));
  json::array list;
  for (const ChatMessage& message : messages)
    list.push_back(json::object{{"role", message.role}, {"content", message.content}});
  request.method = "POST";
  request.headers.push_back({"Content-Type", "application/json"});
  request.headers.push_back({"Accept", "text/event-stream"});
  json::object body{{"model", wish.model}, {"messages", std::move(list)}, {"stream", true}};
  if (wish.temperature) body["temperature"] = *wish.temperature;
  request.body = json::serialize(body);
  bool finished = false;
  TRY_OK(stream(
      request, [&](std::string_view data) { return take_event(data, on_text, finished); }, std::move(stop)));
  if (!finished) return base::error(ErrorCode::io, "the server ended the answer before its end");
  return base::ok();
}

base::Status ChatClient::follow(const std::string& path,
                                const std::function<base::Status(std::string_view)>& on_event,
                                std::stop_token stop) const {
  TRY(net::HttpCall request, call(path));
  request.headers.push_back({"Accept", "text/event-stream"});
  return stream(request, on_event, std::move(stop));
}

base::Status ChatClient::stream(const net::HttpCall& request,
                                const std::function<base::Status(std::string_view)>& on_event,
                                std::stop_token stop) const {
  int status = 0;
  std::string refusal;
  net::SseReader events(kMaxEventBytes, on_event);
  net::ReplySink sink;
  sink.head = [&](const net::HttpReply& reply) {
    status = reply.status;
    return base::ok();
  };
  sink.body = [&](std::string_view bytes) -> base::Status {
    if (status == 200) return events.feed(bytes);
    refusal += bytes.substr(0, kMaxTextBytes - std::min(kMaxTextBytes, refusal.size()));
    return base::ok();
  };
  const auto reply = client_.call(request, sink, stop);
  if (!reply.ok()) return explain(reply.error());
  if (status != 200) return server_error(status, refusal);
  return base::ok();
}

}  // namespace kvasir::app
