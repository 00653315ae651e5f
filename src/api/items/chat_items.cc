#include "api/items/chat_items.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/answer/question/custom_tools.h"
#include "api/answer/shape/custom_input.h"
#include "api/http/json/fields.h"
#include "api/http/service/request_id.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

Result<std::string> read_member(const json::object& item, std::string_view key) {
  const json::value* value = item.if_contains(key);
  if (value == nullptr || value->is_null()) return in_field(key, missing("a string"));
  auto text = read_string(*value);
  if (!text.ok()) return in_field(key, std::move(text).error());
  return text;
}

// The name of the member that has a part's text; empty: a part of this type has no text.
std::string_view text_key(std::string_view type) {
  if (type == "refusal") return "refusal";
  for (const std::string_view known : {"input_text", "output_text", "text", "reasoning_text", "summary_text"})
    if (type == known) return "text";
  return {};
}

// Reads a string, or joins text parts as lines.
Result<std::string> read_content(const json::object& item, std::string_view key) {
  const json::value* content = item.if_contains(key);
  if (content == nullptr || content->is_null())
    return in_field(key, missing("a string or an array of parts"));
  if (content->is_string()) return std::string(content->get_string());
  if (!content->is_array()) return in_field(key, wrong_type("a string or an array of parts", *content));
  std::string text;
  for (std::size_t i = 0; i < content->get_array().size(); ++i) {
    const json::value& part = content->get_array()[i];
    const auto read = [&]() -> Status {
      if (!part.is_object()) return wrong_type("an object with a \"type\"", part);
      TRY(const std::string type, read_member(part.get_object(), "type"));
      const std::string_view inside = text_key(type);
      if (inside.empty())
        return in_field("type", not_supported(fmt::format("content of type \"{}\" is", type)));
      TRY(const std::string line, read_member(part.get_object(), inside));
      append_line(text, line);
      return base::ok();
    };
    if (Status status = read(); !status.ok())
      return in_field(key, in_field(fmt::format("[{}]", i), std::move(status).error()));
  }
  return text;
}

// A kind of call that some clients run without declaring a function. The model reads it as a function call.
struct ClientCall {
  std::string_view item;    // the call's type; that of its result ends in "_output"
  std::string_view name;    // of the function that the model reads
  std::string_view member;  // the item's member that has the arguments
};
constexpr std::array<ClientCall, 3> kClientCalls{{{"local_shell_call", "local_shell", "action"},
                                                  {"shell_call", "shell", "action"},
                                                  {"apply_patch_call", "apply_patch", "operation"}}};

// Types that are left out: records of what OpenAI's servers did, and histories that only they can read.
constexpr std::array<std::string_view, 8> kUnreadable{
    "web_search_call", "file_search_call",     "code_interpreter_call", "image_generation_call",
    "mcp_list_tools",  "mcp_approval_request", "mcp_approval_response", "compaction"};

// Builds messages from items, one after another.
class Dialogue {
 public:
  explicit Dialogue(std::vector<std::string>& warnings) : warnings_(warnings) {}

  Status add(const json::object& item) {
    TRY(const std::string type, read_member(item, "type"));
    if (type == "mcp_call") return add_server_call(item);
    tell_results();
    if (type == "message") return add_message(item);
    if (type == "function_call") return add_call(item);
    if (type == "custom_tool_call") return add_custom_call(item);
    if (type == "function_call_output" || type == "custom_tool_call_output") return add_result(item);
    if (type == "reasoning") return add_reasoning(item);
    for (const ClientCall& kind : kClientCalls) {
      if (type == kind.item) return add_client_call(item, kind);
      if (type.starts_with(kind.item) && type.substr(kind.item.size()) == "_output")
        return add_client_result(item);
    }
    if (std::ranges::find(kUnreadable, type) != kUnreadable.end()) {
      warn(fmt::format("input: items of type {} are left out", type));
      return base::ok();
    }
    return in_field("type", not_supported(fmt::format("an item of type \"{}\" is", type)));
  }
  json::array take() {
    tell_results();
    return std::move(messages_);
  }

 private:
  Status add_message(const json::object& item) {
    TRY(std::string role, read_member(item, "role"));
    if (role != "user" && role != "assistant" && role != "system" && role != "developer")
      return in_field("role", wrong_value(fmt::format(
                                  "expected user, assistant, system or developer, got \"{}\"", role)));
    if (role == "developer") role = "system";
    TRY(const std::string text, read_content(item, "content"));
    json::object message{{"role", role}, {"content", text}};
    if (role == "assistant") give_reasoning(message);
    messages_.push_back(std::move(message));
    return base::ok();
  }

  Status add_call(const json::object& item) {
    TRY(const std::string id, read_member(item, "call_id"));
    return note_call(id, item);
  }

  Status add_custom_call(const json::object& item) {
    TRY(const std::string id, read_member(item, "call_id"));
    TRY(const std::string name, read_tool_name(item));
    TRY(const std::string input, read_member(item, "input"));
    push_call(id, name, custom_arguments(input));
    return base::ok();
  }

  Status add_client_call(const json::object& item, const ClientCall& kind) {
    TRY(const std::string id, read_member(item, item.contains("call_id") ? "call_id" : "id"));
    const json::value* arguments = item.if_contains(kind.member);
    if (arguments == nullptr) return in_field(kind.member, missing("an object"));
    if (!arguments->is_object()) return in_field(kind.member, wrong_type("an object", *arguments));
    push_call(id, std::string(kind.name), *arguments);
    return base::ok();
  }

  // Adds the result of a client's call. It is text, or an object of any shape, which the model reads as JSON.
  Status add_client_result(const json::object& item) {
    TRY(const std::string id, read_member(item, item.contains("call_id") ? "call_id" : "id"));
    const json::value* output = item.if_contains("output");
    std::string text;
    if (output != nullptr && !output->is_null())
      text = output->is_string() ? std::string(output->get_string()) : base::json_text(*output);
    messages_.push_back(json::object{{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
    return base::ok();
  }

  // Reads a call's name in the form that the model knows.
  static Result<std::string> read_tool_name(const json::object& item) {
    TRY(const std::string name, read_member(item, "name"));
    const json::value* name_space = item.if_contains("namespace");
    if (name_space == nullptr || !name_space->is_string()) return name;
    return flat_tool_name(name_space->get_string(), name);
  }

  // Adds a call with the item's name and arguments to the assistant's message.
  Status note_call(const std::string& id, const json::object& item) {
    TRY(const std::string name, read_tool_name(item));
    TRY(const std::string text, read_member(item, "arguments"));
    auto arguments = base::parse_json(text);
    push_call(id, name, arguments.ok() && arguments->is_object() ? *arguments : json::value(text));
    return base::ok();
  }

  void push_call(const std::string& id, const std::string& name, json::value arguments) {
    json::object function{{"name", name}, {"arguments", std::move(arguments)}};
    json::object call{{"id", id}, {"type", "function"}, {"function", std::move(function)}};
    if (messages_.empty() || messages_.back().at("role").get_string() != "assistant")
      messages_.push_back(json::object{{"role", "assistant"}, {"content", ""}});
    json::object& message = messages_.back().get_object();
    give_reasoning(message);
    if (!message.contains("tool_calls")) message["tool_calls"] = json::array();
    message["tool_calls"].get_array().push_back(std::move(call));
  }

  void warn(std::string warning) {
    if (std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(std::move(warning));
  }

  // Adds a call of this server's tools and its result. Results of concurrent calls come after all of the
  // calls.
  Status add_server_call(const json::object& item) {
    const json::value* round = item.if_contains("round");
    const std::int64_t number = round != nullptr && round->is_int64() ? round->get_int64() : 0;
    if (!results_.empty() && number != round_) tell_results();
    round_ = number;
    TRY(const std::string id, read_member(item, "id"));
    TRY_OK(note_call(id, item));
    TRY(const std::string text, result_of(item));
    results_.push_back(
        json::object{{"role", "tool"}, {"tool_call_id", id}, {"name", item.at("name")}, {"content", text}});
    return base::ok();
  }

  static Result<std::string> result_of(const json::object& item) {
    const json::value* error = item.if_contains("error");
    const json::value* output = item.if_contains("output");
    if (error == nullptr || error->is_null())
      return output == nullptr || output->is_null() ? std::string() : read_content(item, "output");
    if (error->is_string()) return std::string(error->get_string());
    if (!error->is_object()) return in_field("error", wrong_type("an object", *error));
    const char* key = error->get_object().contains("content") ? "content" : "message";
    auto text = read_content(error->get_object(), key);
    if (!text.ok()) return in_field("error", std::move(text).error());
    return text;
  }

  void tell_results() {
    for (json::value& result : std::exchange(results_, {})) messages_.push_back(std::move(result));
  }

  Status add_result(const json::object& item) {
    TRY(const std::string id, read_member(item, "call_id"));
    TRY(const std::string text, read_content(item, "output"));
    messages_.push_back(json::object{{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
    return base::ok();
  }

  Status add_reasoning(const json::object& item) {
    const json::value* content = item.if_contains("content");
    if (content == nullptr || content->is_null()) {  // it has only a summary, which is for people
      const json::value* sealed = item.if_contains("encrypted_content");
      if (sealed != nullptr && !sealed->is_null()) warn("input: encrypted reasoning is left out");
      return base::ok();
    }
    TRY(const std::string text, read_content(item, "content"));
    append_line(reasoning_, text);
    return base::ok();
  }

  void give_reasoning(json::object& message) {
    if (!reasoning_.empty()) message["reasoning_content"] = std::exchange(reasoning_, {});
  }

  std::vector<std::string>& warnings_;
  json::array messages_;
  std::string reasoning_;  // for the assistant's next message
  json::array results_;    // results of this server's tools; they follow the last call of their round
  std::int64_t round_ = 0;
};

}  // namespace

void make_item_id(json::object& item) {
  const json::value& type = item.at("type");
  const auto is = [&](std::string_view name) { return type == json::value(name); };
  item["id"] = make_answer_id(is("message")            ? "msg_"
                              : is("function_call")    ? "fc_"
                              : is("custom_tool_call") ? "ctc_"
                              : is("reasoning")        ? "rs_"
                                                       : "item_");
}

Status read_items(json::array& items, ItemIds wanted) {
  std::unordered_set<std::string> ids;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_object()) return in_field(fmt::format("[{}]", i), wrong_type("an object", items[i]));
    json::object& item = items[i].get_object();
    const auto is_absent = [&](const char* key) { return !item.contains(key) || item.at(key).is_null(); };
    if (is_absent("type"))
      item["type"] = is_absent("role") && !is_absent("id") ? "item_reference" : "message";
    if (!is_absent("id") && !item.at("id").is_string())
      return in_field(fmt::format("[{}].id", i), wrong_type("a string", item.at("id")));
    if (item.at("type") == "item_reference") continue;  // its id belongs to another item
    if (wanted == ItemIds::make) make_item_id(item);
    // Pages of items begin after an item's id, so ids must be unique.
    else if (is_absent("id") || !ids.insert(std::string(item.at("id").get_string())).second)
      item["id"] = make_answer_id("item_");
  }
  return base::ok();
}

Result<json::array> messages_of_items(const json::array& items, std::size_t num_earlier,
                                      std::vector<std::string>& warnings, std::string_view field) {
  Dialogue dialogue(warnings);
  for (std::size_t i = 0; i < items.size(); ++i) {
    Status status = dialogue.add(items[i].get_object());
    if (status.ok()) continue;
    if (i < num_earlier) return std::move(status).error();
    base::Error error = in_field(fmt::format("[{}]", i - num_earlier), std::move(status).error());
    return field.empty() ? error : in_field(field, std::move(error));
  }
  return dialogue.take();
}

}  // namespace kvasir::api
