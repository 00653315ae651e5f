#include "api/conversations/conversation_view.h"

#include <utility>

namespace kvasir::api {

namespace {

// Parses JSON that this server stored. If it is damaged, the result is an empty object.
json::object stored_object(const std::string& text) {
  auto value = base::parse_json(text, kStoredJson);
  return value.ok() && value->is_object() ? std::move(value->get_object()) : json::object();
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

}  // namespace

json::object conversation_object(const store::Conversation& conversation) {
  json::object settings = stored_object(conversation.settings);
  const json::value* policy = settings.if_contains("context_policy");
  json::value chosen = policy == nullptr ? json::value(kDefaultPolicy) : *policy;
  settings.erase("context_policy");
  return {{"id", conversation.id},
          {"object", "conversation"},
          {"created_at", conversation.created_ms / 1000},
          {"updated_at", conversation.updated_ms / 1000},
          {"title", text_or_null(conversation.title)},
          {"model", text_or_null(conversation.model)},
          {"system_prompt", text_or_null(conversation.system_prompt)},
          {"context_policy", std::move(chosen)},
          {"settings", std::move(settings)},
          {"metadata", stored_object(conversation.metadata)},
          {"active_message_id", text_or_null(conversation.active_leaf)}};
}

json::object message_object(const store::Message& message, const std::string& conversation_id,
                            const std::vector<std::string>& siblings) {
  json::object object{{"id", message.id},
                      {"object", "conversation.message"},
                      {"conversation_id", conversation_id},
                      {"parent_id", text_or_null(message.parent_id)},
                      {"created_at", message.created_ms / 1000},
                      {"status", name_of(message.status)},
                      {"role", message.role},
                      {"content", nullptr}};
  for (auto& [name, value] : stored_object(message.body)) object[name] = std::move(value);
  object["model"] = text_or_null(message.model);
  object["finish_reason"] = text_or_null(message.finish_reason);
  object["usage"] = nullptr;
  object["cost"] = number_or_null(message.cost);
  object["timings"] = nullptr;
  object["context"] = nullptr;
  if (!message.model.empty()) {
    object["usage"] =
        json::object{{"prompt_tokens", message.prompt_tokens},
                     {"completion_tokens", message.output_tokens},
                     {"total_tokens", message.prompt_tokens + message.output_tokens},
                     {"prompt_tokens_details", json::object{{"cached_tokens", message.cached_tokens}}}};
    object["timings"] = json::object{{"first_token_ms", number_or_null(message.first_token_ms)},
                                     {"total_ms", number_or_null(message.total_ms)}};
    if (!message.context.empty()) object["context"] = stored_object(message.context);
  }
  json::array ids;
  for (const std::string& id : siblings) ids.emplace_back(id);
  if (siblings.empty()) ids.emplace_back(message.id);
  object["sibling_ids"] = std::move(ids);
  return object;
}

}  // namespace kvasir::api
