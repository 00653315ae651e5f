#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/ollama/ollama_request.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

const json::value* member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Makes ids for calls, and gives results the ids of their calls: Ollama's clients send neither.
class CallIds {
 public:
  // Most calls without a result that are kept. Each result searches all of them.
  static constexpr std::size_t kMostOpen = 1024;

  bool is_full() const { return open_.size() >= kMostOpen; }
  std::string add(std::string_view name, const json::value* given) {
    std::string id = given != nullptr && given->is_string() ? std::string(given->get_string())
                                                            : fmt::format("call{:05}", ++num_made_);
    open_.emplace_back(id, name);
    return id;
  }
  // Returns the id of the first call with that name that has no result yet, or else of the first call.
  std::string take(std::string_view name) {
    auto found = open_.begin();
    for (auto it = open_.begin(); it != open_.end(); ++it)
      if (it->second == name) {
        found = it;
        break;
      }
    if (found == open_.end()) return "call00000";
    std::string id = std::move(found->first);
    open_.erase(found);
    return id;
  }
  void take_id(std::string_view id) {
    std::erase_if(open_, [&](const auto& call) { return call.first == id; });
  }

 private:
  int num_made_ = 0;
  std::vector<std::pair<std::string, std::string>> open_;  // id and name
};

Result<json::array> read_calls(const json::value& value, CallIds& ids) {
  if (!value.is_array()) return wrong_type("an array", value);
  json::array calls;
  for (std::size_t i = 0; i < value.get_array().size(); ++i) {
    const json::value& call = value.get_array()[i];
    const std::string at = fmt::format("[{}]", i);
    if (ids.is_full())
      return in_field(
          at, wrong_value(fmt::format("at most {} calls may wait for their results", CallIds::kMostOpen)));
    const json::value* function = call.is_object() ? member(call.get_object(), "function") : nullptr;
    if (function == nullptr || !function->is_object())
      return in_field(at, wrong_type("an object with a \"function\"", call));
    const json::value* name = member(function->get_object(), "name");
    if (name == nullptr || !name->is_string())
      return in_field(at, in_field("function", in_field("name", missing("a string"))));
    const json::value* arguments = member(function->get_object(), "arguments");
    if (arguments != nullptr && !arguments->is_object() && !arguments->is_string())
      return in_field(at, in_field("function", in_field("arguments", wrong_type("an object", *arguments))));
    const std::string text(name->get_string());
    calls.push_back(json::object{
        {"id", ids.add(text, member(call.get_object(), "id"))},
        {"type", "function"},
        {"function",
         json::object{{"name", text}, {"arguments", arguments != nullptr ? *arguments : json::object()}}}});
  }
  return calls;
}

Status refuse_images(const json::object& message) {
  const json::value* images = member(message, "images");
  if (images == nullptr || (images->is_array() && images->get_array().empty())) return base::ok();
  return in_field("images", not_supported("a picture is"));
}

// `tool_name` is absent or a string.
void add_result_id(const json::object& message, CallIds& ids, json::object& out) {
  const json::value* name = member(message, "tool_name");
  if (name != nullptr) out["name"] = *name;
  const json::value* id = member(message, "tool_call_id");
  if (id != nullptr && id->is_string()) {
    ids.take_id(id->get_string());
    out["tool_call_id"] = *id;
    return;
  }
  out["tool_call_id"] = ids.take(name == nullptr ? std::string_view() : std::string_view(name->get_string()));
}

Result<json::object> read_message(const json::value& value, CallIds& ids) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::object& message = value.get_object();
  TRY_OK(refuse_images(message));
  const json::value* tool = member(message, "tool_name");
  if (tool != nullptr && !tool->is_string()) return in_field("tool_name", wrong_type("a string", *tool));
  json::object out;
  if (const json::value* role = member(message, "role")) out["role"] = *role;
  const json::value* content = member(message, "content");
  out["content"] = content != nullptr ? *content : json::value("");
  if (const json::value* thinking = member(message, "thinking")) {
    if (!thinking->is_string()) return in_field("thinking", wrong_type("a string", *thinking));
    if (!thinking->get_string().empty()) out["reasoning_content"] = *thinking;
  }
  if (const json::value* calls = member(message, "tool_calls")) {
    auto read = read_calls(*calls, ids);
    if (!read.ok()) return in_field("tool_calls", std::move(read).error());
    if (!read->empty()) out["tool_calls"] = std::move(*read);
  }
  const json::value* role = out.if_contains("role");
  if (role != nullptr && *role == "tool") add_result_id(message, ids, out);
  return out;
}

}  // namespace

Result<json::array> read_ollama_messages(const json::value& messages) {
  if (!messages.is_array()) return in_field("messages", wrong_type("an array of messages", messages));
  CallIds ids;
  json::array converted;
  for (std::size_t i = 0; i < messages.get_array().size(); ++i) {
    auto message = read_message(messages.get_array()[i], ids);
    if (!message.ok())
      return in_field("messages", in_field(fmt::format("[{}]", i), std::move(message).error()));
    converted.push_back(std::move(*message));
  }
  json::value value = std::move(converted);
  return read_messages(value);
}

}  // namespace kvasir::api
