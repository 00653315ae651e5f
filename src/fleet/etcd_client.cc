#include "fleet/etcd_client.h"

#include <charconv>
#include <utility>

#include "fleet/base64.h"

namespace kvasir::fleet {

namespace json = base::json;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMaxReply = 8 << 20;
constexpr std::chrono::milliseconds kCallTimeout{2000};

// etcd writes 64-bit numbers as strings, and leaves zeros out.
std::int64_t number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return 0;
  if (value->is_int64()) return value->as_int64();
  if (!value->is_string()) return 0;
  const json::string& text = value->as_string();
  std::int64_t result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

const json::object* object_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

const json::array& array_of(const json::object& object, std::string_view key) {
  static const json::array kNone;
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

// The end of the range of all keys with this prefix: the first key after them.
std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty()) {
    if (static_cast<unsigned char>(prefix.back()) < 0xff) {
      ++prefix.back();
      return prefix;
    }
    prefix.pop_back();
  }
  return std::string(1, '\0');
}

Result<json::object> parse(std::string_view text) {
  auto parsed = base::parse_json(text);
  if (!parsed.ok() || !parsed->is_object())
    return base::error(ErrorCode::corrupt, "etcd answered something that is not an object");
  return std::move(parsed->get_object());
}

Result<EtcdClient::Entry> entry_of(const json::object& kv) {
  TRY(std::string key, decode_base64(text_of(kv, "key")));
  TRY(std::string value, decode_base64(text_of(kv, "value")));
  return EtcdClient::Entry{std::move(key), std::move(value)};
}

// The events in one line of a watch's answer.
Result<std::vector<EtcdClient::Event>> events_of(std::string_view line) {
  TRY(const json::object object, parse(line));
  const json::object* result = object_of(object, "result");
  if (result == nullptr) return base::error(ErrorCode::io, "etcd ended the watch: {}", line);
  if (const auto* canceled = result->if_contains("canceled"); canceled && *canceled == json::value(true))
    return base::error(ErrorCode::io, "etcd ended the watch: {}", text_of(*result, "cancel_reason"));
  std::vector<EtcdClient::Event> events;
  for (const json::value& one : array_of(*result, "events")) {
    const json::object* event = one.if_object();
    const json::object* kv = event != nullptr ? object_of(*event, "kv") : nullptr;
    if (kv == nullptr) return base::error(ErrorCode::corrupt, "an event of etcd without a key");
    TRY(EtcdClient::Entry entry, entry_of(*kv));
    const bool is_gone = text_of(*event, "type") == "DELETE";
    events.push_back({std::move(entry.key), is_gone ? std::nullopt : std::optional(std::move(entry.value))});
  }
  return events;
}

}  // namespace

net::HttpClient EtcdClient::client(std::chrono::milliseconds read_timeout) const {
  net::HttpClientOptions options;
  options.read_timeout = read_timeout;
  options.ca_file = options_.ca_file;
  options.max_redirects = 0;
  return net::HttpClient(std::move(options));
}

net::Url EtcdClient::url_of(std::string_view path) {
  const std::lock_guard lock(mutex_);
  net::Url url = options_.endpoints[endpoint_ % options_.endpoints.size()];
  url.target = path;
  return url;
}

void EtcdClient::try_next_endpoint() {
  const std::lock_guard lock(mutex_);
  ++endpoint_;
}

Result<std::string> EtcdClient::log_in(std::stop_token stop) {
  {
    const std::lock_guard lock(mutex_);
    if (!token_.empty()) return token_;
  }
  net::HttpCall call{.method = "POST", .url = url_of("/v3/auth/authenticate")};
  call.body = base::json_text(json::object{{"name", options_.user}, {"password", options_.password}});
  TRY(const net::HttpClient::Text answer, client(kCallTimeout).text(call, kMaxReply, std::move(stop)));
  TRY(const json::object object, parse(answer.body));
  std::string token = text_of(object, "token");
  if (token.empty())
    return base::error(ErrorCode::unauthenticated, "etcd does not let '{}' in: {}", options_.user,
                       text_of(object, "message"));
  const std::lock_guard lock(mutex_);
  token_ = token;
  return token;
}

Result<net::HttpCall> EtcdClient::make_call(std::string_view path, const json::object& body,
                                            std::stop_token stop) {
  net::HttpCall call{.method = "POST", .url = url_of(path), .body = base::json_text(body)};
  if (!options_.user.empty()) {
    TRY(std::string token, log_in(std::move(stop)));
    call.headers.emplace_back("Authorization", std::move(token));
  }
  return call;
}

Result<json::object> EtcdClient::call_once(std::string_view path, const json::object& body,
                                           std::stop_token stop) {
  TRY(const net::HttpCall call, make_call(path, body, stop));
  TRY(const net::HttpClient::Text answer, client(kCallTimeout).text(call, kMaxReply, std::move(stop)));
  TRY(json::object object, parse(answer.body));
  if (answer.reply.status == 200) return object;
  if (answer.reply.status == 401) {  // the token is too old
    const std::lock_guard lock(mutex_);
    token_.clear();
  }
  return base::error(answer.reply.status == 401 ? ErrorCode::unauthenticated : ErrorCode::io,
                     "etcd answered {}: {}", answer.reply.status, text_of(object, "message"));
}

Result<json::object> EtcdClient::call(std::string_view path, const json::object& body, std::stop_token stop) {
  Result<json::object> answer = call_once(path, body, stop);
  for (std::size_t i = 0; i < options_.endpoints.size() && !answer.ok() && !stop.stop_requested(); ++i) {
    const bool is_old_token = answer.error().code == ErrorCode::unauthenticated;
    if (!is_old_token && options_.endpoints.size() == 1) break;
    if (!is_old_token) try_next_endpoint();
    answer = call_once(path, body, stop);
  }
  return answer;
}

Result<std::int64_t> EtcdClient::grant_lease(std::stop_token stop) {
  TRY(const json::object answer, call("/v3/lease/grant", {{"TTL", options_.lease.count()}}, std::move(stop)));
  const std::int64_t lease = number(answer, "ID");
  if (lease == 0) return base::error(ErrorCode::corrupt, "etcd granted no lease");
  return lease;
}

Result<bool> EtcdClient::keep_alive(std::int64_t lease, std::stop_token stop) {
  TRY(const json::object answer,
      call("/v3/lease/keepalive", {{"ID", std::to_string(lease)}}, std::move(stop)));
  const json::object* result = object_of(answer, "result");
  if (result == nullptr) return base::error(ErrorCode::io, "etcd did not renew the lease");
  return number(*result, "TTL") > 0;
}

base::Status EtcdClient::revoke(std::int64_t lease, std::stop_token stop) {
  TRY_OK(call("/v3/lease/revoke", {{"ID", std::to_string(lease)}}, std::move(stop)));
  return base::ok();
}

base::Status EtcdClient::put(std::string_view key, std::string_view value, std::int64_t lease,
                             std::stop_token stop) {
  TRY_OK(
      call("/v3/kv/put",
           {{"key", encode_base64(key)}, {"value", encode_base64(value)}, {"lease", std::to_string(lease)}},
           std::move(stop)));
  return base::ok();
}

Result<EtcdClient::Range> EtcdClient::range(std::stop_token stop) {
  TRY(const json::object answer, call("/v3/kv/range",
                                      {{"key", encode_base64(options_.prefix)},
                                       {"range_end", encode_base64(end_of_prefix(options_.prefix))}},
                                      std::move(stop)));
  Range range;
  if (const json::object* header = object_of(answer, "header")) range.revision = number(*header, "revision");
  for (const json::value& kv : array_of(answer, "kvs")) {
    if (!kv.is_object()) return base::error(ErrorCode::corrupt, "a range of etcd without keys");
    TRY(Entry entry, entry_of(kv.get_object()));
    range.entries.push_back(std::move(entry));
  }
  return range;
}

base::Status EtcdClient::watch(std::int64_t from_revision, std::chrono::milliseconds silence,
                               const std::function<void(const std::vector<Event>&)>& on_events,
                               std::stop_token stop) {
  const json::object body{{"create_request",
                           {{"key", encode_base64(options_.prefix)},
                            {"range_end", encode_base64(end_of_prefix(options_.prefix))},
                            {"start_revision", std::to_string(from_revision)}}}};
  TRY(const net::HttpCall call, make_call("/v3/watch", body, stop));
  std::string line;
  net::ReplySink sink;
  sink.body = [&](std::string_view bytes) -> base::Status {
    for (const char c : bytes) {
      if (c != '\n') {
        line += c;
        continue;
      }
      TRY(const std::vector<Event> events, events_of(std::exchange(line, {})));
      if (!events.empty()) on_events(events);
    }
    if (line.size() > kMaxReply) return base::error(ErrorCode::too_large, "etcd sent a line without end");
    return base::ok();
  };
  TRY_OK(client(silence).call(call, sink, std::move(stop)));
  return base::ok();
}

}  // namespace kvasir::fleet
