#include "api/answer/question/chat_request.h"
#include "api/conversations/conversation_request.h"
#include "api/conversations/endpoints.h"
#include "api/conversations/turn_request.h"
#include "api/http/json/page_query.h"
#include "api/http/service/route.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kConversationSchemas[] = {
    {"Conversation", R"({"type": "object", "required": ["id", "object", "created_at"], "properties": {
        "id": {"type": "string"}, "object": {"const": "conversation"},
        "created_at": {"type": "integer"}, "updated_at": {"type": "integer"},
        "title": {"type": ["string", "null"]}, "model": {"type": ["string", "null"]},
        "system_prompt": {"type": ["string", "null"]},
        "context_policy": {"enum": ["error", "sliding_window", "summarize"]},
        "settings": {"type": "object"}, "metadata": {"type": "object"},
        "active_message_id": {"type": ["string", "null"]}}})"},
    {"ConversationList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "first_id": {"type": ["string", "null"]},
        "last_id": {"type": ["string", "null"]}, "has_more": {"type": "boolean"},
        "data": {"type": "array", "items": {"$ref": "#/components/schemas/Conversation"}}}})"},
    {"Context", R"({"type": "object", "required": ["policy", "window", "prompt_tokens", "max_tokens"],
        "properties": {
          "policy": {"enum": ["error", "sliding_window", "summarize"]},
          "window": {"type": "integer", "description": "Tokens of prompt and answer together."},
          "prompt_tokens": {"type": "integer"}, "max_tokens": {"type": "integer"},
          "requested_max_tokens": {"type": "integer", "description": "Where less was left."},
          "dropped_messages": {"type": "integer"}, "dropped_turns": {"type": "integer"},
          "summarized_messages": {"type": "integer"}, "summarized_turns": {"type": "integer"},
          "summary": {"type": "string"},
          "first_message_id": {"type": ["string", "null"],
                               "description": "The oldest message that the model was given."}}})"},
    {"ConversationMessage", R"({"type": "object", "required": ["id", "object", "role", "status"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "conversation.message"},
          "conversation_id": {"type": "string"}, "parent_id": {"type": ["string", "null"]},
          "created_at": {"type": "integer"}, "status": {"enum": ["completed", "in_progress", "incomplete"]},
          "role": {"type": "string"}, "model": {"type": ["string", "null"]},
          "finish_reason": {"type": ["string", "null"]},
          "usage": {"anyOf": [{"$ref": "#/components/schemas/Usage"}, {"type": "null"}]},
          "cost": {"type": ["number", "null"]},
          "timings": {"type": ["object", "null"], "properties": {
            "first_token_ms": {"type": ["number", "null"]}, "total_ms": {"type": ["number", "null"]}}},
          "context": {"anyOf": [{"$ref": "#/components/schemas/Context"}, {"type": "null"}]},
          "sibling_ids": {"type": "array", "items": {"type": "string"}}}})"},
    {"ConversationAnswer", R"({"allOf": [{"$ref": "#/components/schemas/ChatCompletion"}, {"type": "object",
        "required": ["conversation_id", "input_message_ids", "message"], "properties": {
          "conversation_id": {"type": "string"},
          "input_message_ids": {"type": "array", "items": {"type": "string"}},
          "server_tool_message_ids": {"type": "array", "items": {"type": "string"}},
          "message": {"$ref": "#/components/schemas/ConversationMessage"}}}]})"},
    {"ConversationMessageList", R"({"type": "object", "required": ["object", "data", "has_more"],
        "properties": {
          "object": {"const": "list"}, "first_id": {"type": ["string", "null"]},
          "last_id": {"type": ["string", "null"]}, "has_more": {"type": "boolean"},
          "active_message_id": {"type": ["string", "null"]},
          "data": {"type": "array", "items": {"$ref": "#/components/schemas/ConversationMessage"}}}})"},
    {"ConversationItem", R"({"type": "object", "required": ["id", "type"], "properties": {
        "id": {"type": "string"}, "type": {"type": "string"}}})"},
    {"ConversationItemList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "first_id": {"type": ["string", "null"]},
        "last_id": {"type": ["string", "null"]}, "has_more": {"type": "boolean"},
        "data": {"type": "array", "items": {"$ref": "#/components/schemas/ConversationItem"}}}})"},
    {"Deleted", R"({"type": "object", "required": ["id", "object", "deleted"], "properties": {
        "id": {"type": "string"}, "object": {"type": "string"}, "deleted": {"const": true}}})"},
};

constexpr Answer kConversation[] = {{200, "The conversation.", "Conversation"}};
constexpr Answer kConversations[] = {{200, "A page of them.", "ConversationList"}};
constexpr Answer kDeleted[] = {{200, "It is gone, with its messages.", "Deleted"}};
constexpr Answer kMessage[] = {{200, "The message.", "ConversationMessage"}};
constexpr Answer kMessages[] = {{200, "A page of a branch.", "ConversationMessageList"}};
constexpr Answer kItem[] = {{200, "The item.", "ConversationItem"}};
constexpr Answer kItems[] = {{200, "The items.", "ConversationItemList"}};
constexpr Answer kTurn[] = {
    {200, "The answer, as a chat completion has it, and the stored `message`.", "ConversationAnswer"},
    {200, "With `generate` false: the stored messages.", "ConversationMessageList"},
    {200, "With `stream`: chunks of it, then [DONE].", {}, "text/event-stream"}};

constexpr Route kConversationRoutes[] = {
    {.method = "POST",
     .path = "/v1/conversations",
     .kind = RouteKind::work,
     .handle = handle_create_conversation,
     .summary = "A new conversation",
     .answers = kConversation,
     .body = conversation_fields_schema,
     .body_optional = true},
    {.method = "GET",
     .path = "/v1/conversations",
     .kind = RouteKind::view,
     .handle = handle_list_conversations,
     .summary = "The conversations",
     .answers = kConversations,
     .query = list_query_schema},
    {.method = "GET",
     .path = "/v1/conversations/{id}",
     .kind = RouteKind::view,
     .handle = handle_conversation,
     .summary = "One conversation",
     .answers = kConversation},
    {.method = "PATCH",
     .path = "/v1/conversations/{id}",
     .kind = RouteKind::work,
     .handle = handle_change_conversation,
     .summary = "Changes what the body names",
     .answers = kConversation,
     .body = conversation_fields_schema,
     .body_optional = true},
    {.method = "POST",
     .path = "/v1/conversations/{id}",
     .kind = RouteKind::work,
     .handle = handle_change_conversation,
     .summary = "The same as PATCH, as OpenAI's clients have it",
     .answers = kConversation,
     .body = conversation_fields_schema,
     .body_optional = true},
    {.method = "DELETE",
     .path = "/v1/conversations/{id}",
     .kind = RouteKind::work,
     .handle = handle_delete_conversation,
     .summary = "Deletes a conversation",
     .answers = kDeleted},
    {.method = "POST",
     .path = "/v1/conversations/{id}/items",
     .kind = RouteKind::work,
     .handle = handle_add_items,
     .summary = "Adds items without an answer, as OpenAI's clients do",
     .answers = kItems,
     .body = new_items_schema},
    {.method = "GET",
     .path = "/v1/conversations/{id}/items",
     .kind = RouteKind::view,
     .handle = handle_list_items,
     .summary = "The items of the active branch",
     .answers = kItems,
     .query = list_query_schema},
    {.method = "GET",
     .path = "/v1/conversations/{id}/items/{item_id}",
     .kind = RouteKind::view,
     .handle = handle_item,
     .summary = "One item",
     .answers = kItem},
    {.method = "DELETE",
     .path = "/v1/conversations/{id}/items/{item_id}",
     .kind = RouteKind::work,
     .handle = handle_delete_item,
     .summary = "Removes an item; what came after it stays",
     .answers = kConversation},
    {.method = "POST",
     .path = "/v1/conversations/{id}/messages",
     .kind = RouteKind::work,
     .handle = handle_add_message,
     .summary = "A message, and the model's answer to it; both are stored",
     .answers = kTurn,
     .body = turn_request_schema},
    {.method = "GET",
     .path = "/v1/conversations/{id}/messages",
     .kind = RouteKind::view,
     .handle = handle_list_messages,
     .summary = "The messages of the active branch, or of another",
     .answers = kMessages,
     .query = message_query_schema},
    {.method = "GET",
     .path = "/v1/conversations/{id}/messages/{message_id}",
     .kind = RouteKind::view,
     .handle = handle_message,
     .summary = "One message",
     .answers = kMessage},
    {.method = "POST",
     .path = "/v1/conversations/{id}/messages/{message_id}",
     .kind = RouteKind::work,
     .handle = handle_edit_message,
     .summary = "Another version of a message, on a branch of its own",
     .answers = kTurn,
     .body = turn_request_schema,
     .body_optional = true},
};

}  // namespace

RouteGroup conversation_routes() {
  return {"Conversations", kConversationRoutes, kConversationSchemas};
}

}  // namespace kvasir::api
