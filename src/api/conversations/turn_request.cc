#include "api/conversations/turn_request.h"

#include <utility>

#include "api/conversations/conversation_view.h"
#include "api/http/json/object_schema.h"
#include "api/http/service/request_id.h"
#include "api/http/work/store_task.h"
#include "api/items/stored_items.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

struct TurnFields {
  TurnTarget target;
};

constexpr Field<TurnFields> kTurnFields[] = {
    {"parent_id",
     [](const json::value& v, TurnFields& f) -> Status {
       TRY(f.target.parent_id, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "The message that this one follows; a branch where others do already."})"},
    {"generate",
     [](const json::value& v, TurnFields& f) -> Status {
       TRY(f.target.generate, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true, "description": "False: the message is only stored."})"},
    {"role", nullptr, R"({"enum": ["system", "developer", "user", "assistant", "tool"], "default": "user"})"},
    {"content", nullptr, R"({"type": "string"})"},
    {"tool_call_id", nullptr, R"({"type": "string"})"},
    {"tool_calls", nullptr, R"({"type": "array", "items": {"$ref": "#/components/schemas/ToolCall"}})"},
};

constexpr const char* kOfMessage[] = {"role", "content", "name", "tool_call_id", "tool_calls"};

bool is_there(const json::object& body, const char* name) {
  const json::value* value = body.if_contains(name);
  return value != nullptr && !value->is_null();
}

// Moves the messages that the body adds, `messages` or the body itself as one message, to a chat's form.
Result<json::array> take_messages(json::object& body, const TurnPlace& place) {
  json::array messages;
  const bool is_message = is_there(body, "content") || is_there(body, "tool_calls");
  if (is_there(body, "messages")) {
    if (is_message) return in_field("content", wrong_value("only allowed without \"messages\""));
    if (!body.at("messages").is_array())
      return in_field("messages", wrong_type("an array of messages", body.at("messages")));
    messages = std::move(body.at("messages").get_array());
  } else if (is_message) {
    json::object message{{"role", place.edited_role.empty() ? "user" : place.edited_role}};
    for (const char* name : kOfMessage)
      if (is_there(body, name)) message[name] = body.at(name);
    messages.push_back(std::move(message));
  } else if (place.edited_role != "assistant") {
    return in_field("content", missing("a string"));
  }
  for (const char* name : kOfMessage) body.erase(name);
  body.erase("messages");
  return messages;
}

std::string stored_body(const json::object& message) {
  json::object body = message;
  body.erase("role");
  return base::json_text(body);
}

std::vector<store::Message> stored_messages(const json::array& messages, const TurnPlace& place) {
  std::vector<store::Message> stored;
  std::string parent = place.path.empty() ? "" : place.path.back();
  for (const json::value& message : messages) {
    store::Message& one = stored.emplace_back();
    one.id = make_answer_id("msg_");
    one.parent_id = std::exchange(parent, one.id);
    one.created_ms = now_ms();
    one.role = std::string(message.at("role").get_string());
    one.body = stored_body(message.get_object());
  }
  return stored;
}

std::string first_words(const json::array& messages) {
  for (const json::value& message : messages)
    if (message.at("role").get_string() == "user")
      if (const json::value* content = message.get_object().if_contains("content");
          content != nullptr && content->is_string())
        return title_of(content->get_string());
  return {};
}

// Builds the whole chat: the system prompt, earlier messages and new ones, with the conversation's settings.
Result<ChatRequest> whole_chat(json::object body, const json::array& added, const TurnPlace& place) {
  json::array messages;
  if (!place.conversation.system_prompt.empty())
    messages.push_back(json::object{{"role", "system"}, {"content", place.conversation.system_prompt}});
  TRY(const json::array earlier, chat_of_messages(place.branch));
  messages.insert(messages.end(), earlier.begin(), earlier.end());
  messages.insert(messages.end(), added.begin(), added.end());
  TRY(json::value settings, base::parse_json(place.conversation.settings, kStoredJson));
  json::object chat = settings.is_object() ? std::move(settings.get_object()) : json::object();
  if (!place.conversation.model.empty()) chat["model"] = place.conversation.model;
  if (!chat.contains("context_policy")) chat["context_policy"] = kDefaultPolicy;
  for (auto& [name, value] : body)
    if (!value.is_null()) chat[name] = std::move(value);
  chat["messages"] = std::move(messages);
  chat.emplace("continue_final_message", false);  // a stored message is complete
  TRY(ChatRequest request, read_chat_request(std::move(chat)));
  if (request.params.n != 1) return in_field("n", wrong_value("a message has one answer; expected 1"));
  return request;
}

}  // namespace

Result<TurnTarget> read_turn_target(const json::object& body) {
  TurnFields fields;
  TRY_OK(read_fields<TurnFields>(body, kTurnFields, fields));
  return fields.target;
}

Result<TurnRequest> read_turn(json::object body, const TurnPlace& place) {
  TurnFields fields;
  TRY_OK(read_fields<TurnFields>(body, kTurnFields, fields));
  body.erase("parent_id");
  body.erase("generate");
  TRY(json::array added, take_messages(body, place));
  json::value checked = added;
  if (!added.empty()) TRY_OK(read_messages(checked));
  TurnRequest turn;
  turn.added = stored_messages(added, place);
  turn.title = first_words(added);
  const bool answered_itself = !added.empty() && added.back().at("role").get_string() == "assistant";
  if (!fields.target.generate || answered_itself) {
    if (added.empty()) return in_field("content", missing("a string, as nothing is to be generated"));
    return turn;
  }
  TRY(turn.chat, whole_chat(std::move(body), added, place));
  set_conversation(place.key.id, turn.chat->params);
  return turn;
}

json::object turn_request_schema() {
  json::object schema = ObjectSchema().add<TurnFields>(kTurnFields).take();
  json::object chat = chat_request_schema();
  for (auto& [name, value] : chat.at("properties").get_object())
    if (name != "messages") schema.at("properties").get_object().emplace(name, std::move(value));
  return schema;
}

}  // namespace kvasir::api
