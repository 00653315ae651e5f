#include <string>
#include <utility>

#include "api/answer/question/tools.h"

namespace kvasir::api {

namespace {

std::string text_of(const json::object& message, std::string_view key) {
  const json::value* value = message.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

// Appends the calls to the content, in the form that the instructions ask for.
void write_calls(json::object& message) {
  json::value* calls = message.if_contains("tool_calls");
  if (calls == nullptr || !calls->is_array()) return;
  std::string content = text_of(message, "content");
  for (const json::value& call : calls->get_array()) {
    const json::object& function = call.at("function").get_object();
    json::object written;
    for (const char* key : {"name", "arguments"})
      if (const json::value* part = function.if_contains(key)) written[key] = *part;
    append_line(content, "<tool_call>\n" + base::json_text(written) + "\n</tool_call>");
  }
  message["content"] = content;
  message.erase("tool_calls");
}

}  // namespace

void write_tools_as_text(const json::array& definitions, json::array& messages) {
  json::array written;
  for (json::value& value : messages) {
    json::object& message = value.get_object();
    const std::string role = text_of(message, "role");
    if (role == "assistant") write_calls(message);
    if (role == "tool") {
      const std::string answer = "<tool_response>\n" + text_of(message, "content") + "\n</tool_response>";
      // Several results become one turn, since many templates require user and assistant to alternate.
      json::object* last = written.empty() ? nullptr : &written.back().get_object();
      if (last != nullptr && text_of(*last, "role") == "user" &&
          text_of(*last, "content").starts_with("<tool_response>")) {
        (*last)["content"] = text_of(*last, "content") + "\n" + answer;
        continue;
      }
      message = {{"role", "user"}, {"content", answer}};
    }
    written.push_back(std::move(value));
  }
  messages = std::move(written);
  if (definitions.empty()) return;
  const std::string instructions = text::tool_instructions(definitions);
  if (!messages.empty() && text_of(messages.front().get_object(), "role") == "system") {
    json::object& system = messages.front().get_object();
    system["content"] = text_of(system, "content") + "\n\n" + instructions;
    return;
  }
  messages.insert(messages.begin(), json::object{{"role", "system"}, {"content", instructions}});
}

}  // namespace kvasir::api
