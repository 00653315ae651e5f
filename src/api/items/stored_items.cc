#include "api/items/stored_items.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "api/answer/question/chat_request.h"
#include "api/http/json/fields.h"
#include "api/http/work/store_task.h"
#include "api/items/chat_items.h"

namespace kvasir::api {

using base::Result;

namespace {

constexpr std::size_t kMaxTitleBytes = 60;

json::object body_of_stored(const store::Message& message) {
  auto value = base::parse_json(message.body, kStoredJson);
  return value.ok() && value->is_object() ? std::move(value->get_object()) : json::object();
}

std::string text_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Returns the stored form of items that make one message: a chat's message, and the items themselves.
Result<store::Message> message_of(json::array items, std::size_t index, std::string_view field) {
  std::vector<std::string> ignored;
  auto chat = messages_of_items(items, 0, ignored, "");
  if (!chat.ok()) {
    base::Error error = std::move(chat).error();
    if (error.field.starts_with("[0]")) error.field.erase(0, 3);
    if (error.field.starts_with('.')) error.field.erase(0, 1);
    return in_field(fmt::format("{}[{}]", field, index), std::move(error));
  }
  store::Message message;
  message.role = "assistant";
  json::object body{{"content", nullptr}};
  if (!chat->empty()) {
    body = std::move(chat->front().get_object());
    message.role = text_at(body, "role");
    body.erase("role");
  }
  if (json::value* calls = body.if_contains("tool_calls"))
    for (json::value& call : calls->get_array()) {
      json::value& arguments = call.at("function").at("arguments");
      if (!arguments.is_string()) arguments = base::json_text(arguments);
    }
  body["items"] = std::move(items);
  message.body = base::json_text(body);
  return message;
}

json::object message_item(const store::Message& message, std::string_view status, const std::string& text) {
  json::object part{{"type", message.role == "assistant" ? "output_text" : "input_text"}, {"text", text}};
  if (message.role == "assistant") {
    part["annotations"] = json::array();
    part["logprobs"] = json::array();
  }
  return {{"id", message.id},
          {"type", "message"},
          {"status", status},
          {"role", message.role},
          {"content", json::array{std::move(part)}}};
}

// The id of the item at `index` in a message, made from the message's id.
std::string derived_id(std::string_view prefix, const store::Message& message, std::size_t index) {
  const std::string_view id = message.id;
  return fmt::format("{}{}_{}", prefix, id.substr(id.find('_') + 1), index);
}

json::object call_item(const store::Message& message, const json::object& call, std::size_t index,
                       std::string_view status) {
  const json::value* function = call.if_contains("function");
  const json::object empty;
  const json::object& inner = function != nullptr && function->is_object() ? function->get_object() : empty;
  const json::value* arguments = inner.if_contains("arguments");
  return {{"id", derived_id("fc_", message, index)},
          {"type", "function_call"},
          {"status", status},
          {"call_id", text_at(call, "id")},
          {"name", text_at(inner, "name")},
          {"arguments", arguments == nullptr     ? ""
                        : arguments->is_string() ? std::string(arguments->get_string())
                                                 : base::json_text(*arguments)}};
}

std::string text_of_content(const json::object& body) {
  const json::value* content = body.if_contains("content");
  if (content == nullptr || content->is_string() || !content->is_array()) return text_at(body, "content");
  std::string text;
  for (const json::value& part : content->get_array())
    if (part.is_object()) text += (text.empty() ? "" : "\n") + text_at(part.get_object(), "text");
  return text;
}

json::array derived_items(const store::Message& message, const json::object& body) {
  const std::string_view status = name_of(message.status);
  const std::string text = text_of_content(body);
  json::array items;
  if (message.role == "tool") {
    items.push_back(json::object{{"id", message.id},
                                 {"type", "function_call_output"},
                                 {"status", status},
                                 {"call_id", text_at(body, "tool_call_id")},
                                 {"output", text}});
    return items;
  }
  if (const std::string reasoning = text_at(body, "reasoning_content"); !reasoning.empty()) {
    json::object part{{"type", "reasoning_text"}, {"text", reasoning}};
    items.push_back(json::object{{"id", derived_id("rs_", message, 0)},
                                 {"type", "reasoning"},
                                 {"status", status},
                                 {"summary", json::array()},
                                 {"content", json::array{std::move(part)}}});
  }
  const json::value* calls = body.if_contains("tool_calls");
  const bool has_calls = calls != nullptr && calls->is_array() && !calls->get_array().empty();
  if (!text.empty() || !has_calls) items.push_back(message_item(message, status, text));
  if (has_calls)
    for (std::size_t i = 0; i < calls->get_array().size(); ++i)
      if (const json::value& call = calls->get_array()[i]; call.is_object())
        items.push_back(call_item(message, call.get_object(), i + 1, status));
  return items;
}

const json::array* own_items(const json::object& body) {
  const json::value* items = body.if_contains("items");
  return items != nullptr && items->is_array() ? &items->get_array() : nullptr;
}

// Appends the chat of the items in `run`, which followed one another, and empties `run`.
base::Status end_run(json::array& run, json::array& chat) {
  if (run.empty()) return base::ok();
  std::vector<std::string> ignored;
  TRY(json::array messages, messages_of_items(run, run.size(), ignored));
  for (json::value& message : messages) chat.push_back(std::move(message));
  run.clear();
  return base::ok();
}

}  // namespace

Result<std::vector<store::Message>> messages_to_store(const json::array& items, std::string parent_id,
                                                      std::string_view field) {
  std::vector<store::Message> messages;
  for (std::size_t i = 0; i < items.size(); ++i) {
    TRY(store::Message message, message_of({items[i]}, i, field));
    message.id = std::string(items[i].at("id").get_string());
    message.parent_id = std::exchange(parent_id, message.id);
    message.created_ms = now_ms();
    messages.push_back(std::move(message));
  }
  return messages;
}

json::array items_of_message(const store::Message& message) {
  const json::object body = body_of_stored(message);
  if (const json::array* own = own_items(body)) return *own;
  return derived_items(message, body);
}

Result<json::array> chat_of_messages(const std::vector<store::Message>& messages) {
  json::array chat;
  json::array run;
  for (const store::Message& message : messages) {
    json::object body = body_of_stored(message);
    if (const json::array* own = own_items(body)) {
      run.insert(run.end(), own->begin(), own->end());
      continue;
    }
    TRY_OK(end_run(run, chat));
    body["role"] = message.role;
    chat.push_back(std::move(body));
  }
  TRY_OK(end_run(run, chat));
  if (chat.empty()) return chat;
  json::value all = std::move(chat);
  return read_messages(all);
}

Result<std::optional<std::string>> body_without_item(const store::Message& message, const std::string& id) {
  json::array items = items_of_message(message);
  items.erase(std::remove_if(items.begin(), items.end(),
                             [&](const json::value& item) {
                               const json::value* own =
                                   item.is_object() ? item.get_object().if_contains("id") : nullptr;
                               return own != nullptr && *own == json::value(id);
                             }),
              items.end());
  if (items.empty()) return std::optional<std::string>();
  TRY(const store::Message rest, message_of(std::move(items), 0, "items"));
  return std::optional(rest.body);
}

std::string title_of_items(const json::array& items) {
  std::vector<std::string> ignored;
  const auto chat = messages_of_items(items, items.size(), ignored);
  if (!chat.ok()) return {};
  for (const json::value& message : *chat)
    if (message.at("role") == "user") return title_of(text_at(message.get_object(), "content"));
  return {};
}

std::string title_of(std::string_view text) {
  std::string title;
  std::size_t last_word = 0;  // where the last whole word ends
  bool cut = false;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (title.empty() || title.back() == ' ') continue;
      last_word = title.size();
      title += ' ';
    } else {
      title += c;
    }
    cut = title.size() > kMaxTitleBytes;
    if (cut) break;
  }
  if (!cut) {
    if (!title.empty() && title.back() == ' ') title.pop_back();
    return title;
  }
  std::size_t end = last_word > 0 ? last_word : kMaxTitleBytes;
  while (end > 0 && (static_cast<unsigned char>(title[end]) & 0xC0) == 0x80) --end;
  return title.substr(0, end) + "…";
}

}  // namespace kvasir::api
