#include "api/conversations/conversation_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/answer/job/context_report.h"
#include "api/answer/question/chat_request.h"
#include "api/http/json/metadata.h"
#include "api/http/json/object_schema.h"
#include "api/items/chat_items.h"
#include "base/utf8.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxTitleCharacters = 256;
constexpr std::size_t kMaxNewItems = 20;  // as in OpenAI's API

// Settings may not have these fields, which a turn or the conversation itself sets.
constexpr std::array kNoSettings = {"messages", "model", "stream", "stream_options", "n", "context_policy"};

Result<std::string> read_title(const json::value& value) {
  TRY(std::string text, read_string(value));
  if (const std::size_t size = base::num_characters(text); size > kMaxTitleCharacters)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} characters, got {}", kMaxTitleCharacters, size),
                 {},
                 "string_above_max_length"};
  return text;
}

// Reads a conversation's settings: default fields for the requests in it.
Status read_settings(const json::value& value, ConversationFields& fields) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::object& settings = value.get_object();
  for (const char* own : kNoSettings)
    if (settings.contains(own))
      return in_field(own, wrong_value("it is no setting; it belongs to the conversation or to a message"));
  json::object trial = settings;
  trial["model"] = "any";
  trial["messages"] = {json::object{{"role", "user"}, {"content", "hi"}}};
  TRY_OK(read_chat_request(std::move(trial)));
  fields.settings = settings;
  return base::ok();
}

constexpr Field<ConversationFields> kConversationFields[] = {
    {"items",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(f.items, read_new_items(v));
       return base::ok();
     },
     R"({"type": "array", "maxItems": 20, "items": {"type": "object"},
         "description": "What a new conversation begins with, in the form of a response's input."})"},
    {"title",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(f.title, read_title(v));
       return base::ok();
     },
     R"({"type": "string", "maxLength": 256,
         "description": "Taken from the first message where it is absent."})"},
    {"model",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(f.model, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Answers where a message names no other."})"},
    {"system_prompt",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(f.system_prompt, read_string(v));
       return base::ok();
     },
     R"({"type": "string"})"},
    {"context_policy",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(const ContextPolicy policy, read_context_policy(v));
       f.context_policy = std::string(name_of(policy));
       return base::ok();
     },
     R"({"enum": ["error", "sliding_window", "summarize"], "default": "sliding_window"})"},
    {"settings", read_settings,
     R"({"type": "object",
         "description": "Fields of a chat completion (temperature, max_tokens, tools, ...) for every message."})"},
    {"metadata",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(f.metadata, read_metadata(v));
       return base::ok();
     },
     kMetadataSchema},
    {"active_message_id",
     [](const json::value& v, ConversationFields& f) -> Status {
       TRY(f.active_message_id, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "The last message of the branch that is to be read."})"},
};

}  // namespace

Result<json::array> read_new_items(const json::value& value) {
  if (!value.is_array()) return wrong_type("an array of items", value);
  json::array items = value.get_array();
  if (items.size() > kMaxNewItems)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} items, got {}", kMaxNewItems, items.size()),
                 {},
                 "array_above_max_length"};
  TRY_OK(read_items(items, ItemIds::make));
  return items;
}

Result<ConversationFields> read_conversation_fields(const json::object& body) {
  ConversationFields fields;
  TRY_OK(read_fields<ConversationFields>(body, kConversationFields, fields));
  return fields;
}

json::object conversation_fields_schema() {
  json::object schema = ObjectSchema().add<ConversationFields>(kConversationFields).take();
  json::object settings = chat_request_schema();
  json::object& properties = settings.at("properties").get_object();
  for (const char* own : kNoSettings) properties[own] = false;
  schema.at("properties").at("settings").get_object()["properties"] = std::move(properties);
  return schema;
}

std::string merged_settings(const std::string& stored, const ConversationFields& fields) {
  auto old = base::parse_json(stored, kStoredJson);
  json::object settings;
  const json::value* policy =
      old.ok() && old->is_object() ? old->get_object().if_contains("context_policy") : nullptr;
  if (fields.settings)
    settings = *fields.settings;
  else if (old.ok() && old->is_object())
    settings = old->get_object();
  if (fields.context_policy)
    settings["context_policy"] = *fields.context_policy;
  else if (policy != nullptr)
    settings["context_policy"] = *policy;
  return base::json_text(settings);
}

}  // namespace kvasir::api
