#include "bench/target.h"

#include <chrono>
#include <utility>

#include "base/json.h"

namespace kvasir::bench {

namespace json = boost::json;

std::string Target::base_url() const {
  std::string text = base.text();
  while (text.ends_with('/')) text.pop_back();
  return text;
}

net::HttpCall Target::get(const std::string& path) const {
  net::HttpCall call;
  call.url = base;
  while (call.url.target.ends_with('/')) call.url.target.pop_back();
  call.url.target += path;
  if (!api_key.empty()) call.headers.push_back({"Authorization", "Bearer " + api_key});
  return call;
}

net::HttpCall Target::ask(const std::vector<Message>& messages, int output_tokens) const {
  net::HttpCall call = get(endpoint == Endpoint::chat ? "/v1/chat/completions" : "/v1/completions");
  call.method = "POST";
  call.headers.push_back({"Content-Type", "application/json"});
  call.headers.push_back({"Accept", "text/event-stream"});
  json::object body;
  if (!model.empty()) body["model"] = model;
  if (endpoint == Endpoint::chat) {
    json::array list;
    for (const Message& message : messages)
      list.push_back(json::object{{"role", message.role}, {"content", message.content}});
    body["messages"] = std::move(list);
  } else {
    std::string prompt;
    for (const Message& message : messages) prompt += (prompt.empty() ? "" : "\n") + message.content;
    body["prompt"] = prompt;
  }
  body[dialect.max_completion_tokens ? "max_completion_tokens" : "max_tokens"] = output_tokens;
  body["stream"] = true;
  body["temperature"] = temperature;
  if (dialect.ignore_eos) body["ignore_eos"] = true;
  if (dialect.stream_usage) body["stream_options"] = {{"include_usage", true}};
  call.body = json::serialize(body);
  return call;
}

base::Result<Target> open_target(const TargetOptions& options) {
  std::string url = options.url;
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with("/v1")) url.resize(url.size() - 3);
  Target target;
  auto parsed = net::parse_url(url);
  if (!parsed.ok())
    return base::error(base::ErrorCode::invalid_argument, "--url: {}", parsed.error().message);
  target.base = std::move(*parsed);
  const std::chrono::milliseconds patience(static_cast<std::int64_t>(options.timeout_s * 1000));
  net::HttpClientOptions client{.connect_timeout = std::chrono::seconds(10), .read_timeout = patience};
  client.keep_alive = true;
  client.ca_file = options.ca_file;
  client.user_agent = "kvasir-bench";
  TRY(target.origin, net::Origin::find(target.base, client, {}));
  target.endpoint = options.endpoint;
  target.model = options.model;
  target.api_key = options.api_key;
  target.temperature = options.temperature;
  return target;
}

}  // namespace kvasir::bench
