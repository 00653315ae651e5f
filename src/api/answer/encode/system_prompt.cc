#include "api/answer/encode/system_prompt.h"

#include <string>
#include <utility>

namespace kvasir::api {

namespace {

// Puts the text before the content of a system message, which is a string, null, or parts that are text.
void put_before(const std::string& prompt, json::value& content) {
  if (auto* parts = content.if_array()) {
    parts->insert(parts->begin(), json::object{{"type", "text"}, {"text", prompt + "\n\n"}});
    return;
  }
  const auto* own = content.if_string();
  content = own == nullptr || own->empty() ? prompt : prompt + "\n\n" + std::string(*own);
}

}  // namespace

std::size_t add_system_prompt(const tenancy::Caller& caller, ChatRequest& chat) {
  if (!caller.system_prompt || caller.system_prompt->empty()) return 0;
  const std::string& prompt = *caller.system_prompt;
  json::object* first = chat.messages.empty() ? nullptr : chat.messages.front().if_object();
  const json::value* role = first == nullptr ? nullptr : first->if_contains("role");
  if (role != nullptr && *role == "system")
    put_before(prompt, (*first)["content"]);
  else
    chat.messages.insert(chat.messages.begin(), json::object{{"role", "system"}, {"content", prompt}});
  return prompt.size();
}

std::size_t add_system_prompt(const tenancy::Caller& caller, QuestionText& text) {
  auto* chat = std::get_if<ChatRequest>(&text);
  return chat == nullptr ? 0 : add_system_prompt(caller, *chat);
}

}  // namespace kvasir::api
