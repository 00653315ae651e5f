#pragma once

#include <optional>
#include <string>

#include "api/http/json/fields.h"
#include "store/conversations.h"

namespace kvasir::api {

// A checked POST or PATCH of a conversation. Absent fields stay as they are.
struct ConversationFields {
  std::optional<std::string> title;
  std::optional<std::string> model;
  std::optional<std::string> system_prompt;
  std::optional<std::string> context_policy;
  std::optional<json::object> settings;
  std::optional<json::object> metadata;
  std::optional<std::string> active_message_id;
  json::array items;  // the items that a new conversation begins with
};

// Checks items that join a conversation, and gives ids to them.
base::Result<json::array> read_new_items(const json::value& value);

base::Result<ConversationFields> read_conversation_fields(const json::object& body);
json::object conversation_fields_schema();

// The stored settings after the change that `fields` asks for.
std::string merged_settings(const std::string& stored, const ConversationFields& fields);

}  // namespace kvasir::api
