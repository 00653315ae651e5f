#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/anthropic/messages_request.h"

namespace kvasir::api {

using base::Error;
using base::Result;
using base::Status;

namespace {

constexpr const char* kContentShapes = "a string or an array of blocks";

// One message while its blocks are read.
struct Turn {
  std::string_view role;
  std::string text;
  bool has_text = false;
  std::string reasoning;
  json::array calls;
  json::array results;  // messages of role "tool"
};

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

Result<std::string> read_member(const json::object& block, std::string_view key) {
  const json::value* value = block.if_contains(key);
  if (value == nullptr || value->is_null()) return in_field(key, missing("a string"));
  auto text = read_string(*value);
  if (!text.ok()) return in_field(key, std::move(text).error());
  return text;
}

Result<std::string> type_of(const json::value& block) {
  if (!block.is_object()) return wrong_type("an object with a \"type\"", block);
  return read_member(block.get_object(), "type");
}

Error unknown_block(std::string_view type, std::string_view place) {
  return in_field("type", not_supported(fmt::format("\"{}\" in {} is", type, place)));
}

// Reads a string, or joins text blocks as lines.
Result<std::string> read_text(const json::value& content, std::string_view place) {
  if (content.is_string()) return std::string(content.get_string());
  if (!content.is_array()) return wrong_type(kContentShapes, content);
  std::string text;
  const json::array& blocks = content.get_array();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("[{}]", i);
    auto type = type_of(blocks[i]);
    if (!type.ok()) return in_field(at, std::move(type).error());
    const bool loads_tool = *type == "tool_reference";  // such a block is in the result of a search for tools
    if (*type != "text" && !loads_tool) return in_field(at, unknown_block(*type, place));
    auto line = read_member(blocks[i].get_object(), loads_tool ? "tool_name" : "text");
    if (!line.ok()) return in_field(at, std::move(line).error());
    append_line(text, loads_tool ? fmt::format("The tool {} is available now.", *line) : *line);
  }
  return text;
}

Status add_tool_use(const json::object& block, Turn& turn) {
  TRY(const std::string id, read_member(block, "id"));
  TRY(const std::string name, read_member(block, "name"));
  const json::value* input = block.if_contains("input");
  if (input == nullptr || !input->is_object())
    return in_field("input", input == nullptr ? missing("an object") : wrong_type("an object", *input));
  turn.calls.push_back(json::object{
      {"id", id}, {"type", "function"}, {"function", json::object{{"name", name}, {"arguments", *input}}}});
  return base::ok();
}

Status add_tool_result(const json::object& block, Turn& turn) {
  TRY(const std::string id, read_member(block, "tool_use_id"));
  std::string text;
  const json::value* content = block.if_contains("content");
  if (content != nullptr && !content->is_null()) {
    auto read = read_text(*content, "the result of a tool");
    if (!read.ok()) return in_field("content", std::move(read).error());
    text = std::move(*read);
  }
  // If the server ran the tool, the text already says how it failed, in the words that the model has seen.
  const bool is_ours = block.at("type") == "mcp_tool_result";
  if (const json::value* failed = block.if_contains("is_error");
      !is_ours && failed != nullptr && *failed == true)
    text = text.empty() ? "Error" : "Error: " + text;
  turn.results.push_back(json::object{{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
  return base::ok();
}

// Tells the model in a system message which tool is available from here on, or no longer. The list of offered
// tools itself is made by `read_anthropic_tools`.
Status add_tool_change(const json::object& block, std::string_view type, Turn& turn) {
  const json::value* tool = block.if_contains("tool");
  if (tool == nullptr || !tool->is_object()) return in_field("tool", missing("a reference to a tool"));
  TRY(const std::string kind, type_of(*tool));
  if (kind != "tool_reference") return in_field("tool", unknown_block(kind, "a change of tools"));
  auto name = read_member(tool->get_object(), "name");
  if (!name.ok()) return in_field("tool", std::move(name).error());
  append_line(turn.text, fmt::format("The tool {} is {}available now.", *name,
                                     type == "tool_addition" ? "" : "no longer "));
  turn.has_text = true;
  return base::ok();
}

Status add_block(const json::value& value, Turn& turn) {
  TRY(const std::string type, type_of(value));
  const json::object& block = value.get_object();
  if (type == "text") {
    TRY(const std::string text, read_member(block, "text"));
    append_line(turn.text, text);
    turn.has_text = true;
    return base::ok();
  }
  if (turn.role == "assistant") {
    if (type == "tool_use" || type == "mcp_tool_use") return add_tool_use(block, turn);
    if (type == "mcp_tool_result") return add_tool_result(block, turn);
    if (type == "redacted_thinking") return base::ok();
    if (type == "thinking") {
      TRY(const std::string thinking, read_member(block, "thinking"));
      append_line(turn.reasoning, thinking);
      return base::ok();
    }
  }
  if (turn.role == "user" && type == "tool_result") return add_tool_result(block, turn);
  if (turn.role == "system" && (type == "tool_addition" || type == "tool_removal"))
    return add_tool_change(block, type, turn);
  return unknown_block(type, fmt::format("a message of the {}", turn.role));
}

bool is_of_type(const json::value& block, std::string_view wanted) {
  const json::value* type = block.is_object() ? block.get_object().if_contains("type") : nullptr;
  return type != nullptr && type->is_string() && std::string_view(type->get_string()) == wanted;
}

const json::value* member_of(const json::object& message, std::string_view key) {
  const json::value* value = message.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Options that only a system message may have: how long its text is shown, and the next turn's effort.
struct SystemOptions {
  bool until_next_user = false;
  bool has_output_config = false;
};

Result<SystemOptions> read_system_options(const json::object& message, std::string_view role,
                                          std::vector<std::string>& warnings) {
  SystemOptions options;
  for (const char* key : {"clear_at", "output_config"})
    if (role != "system" && member_of(message, key) != nullptr)
      return in_field(key, wrong_value("only a message of the system may have it"));
  if (const json::value* clear_at = member_of(message, "clear_at")) {
    options.until_next_user = *clear_at == "next_user_message";
    if (!options.until_next_user && *clear_at != "never")
      return in_field("clear_at", wrong_value("expected next_user_message or never"));
  }
  if (const json::value* config = member_of(message, "output_config")) {
    if (!config->is_object()) return in_field("output_config", wrong_type("an object", *config));
    options.has_output_config = true;
    constexpr std::string_view kWarning =
        "messages.output_config.effort: ignored, an effort is for the whole request";
    if (member_of(config->get_object(), "effort") != nullptr &&
        std::ranges::find(warnings, kWarning) == warnings.end())
      warnings.emplace_back(kWarning);
  }
  return options;
}

// Whether a message of the user follows later.
enum class Position : std::uint8_t { before_user, after_user };

// Reads one message. It becomes several turns if this server ran tools in it: the answer continues after
// their results. It becomes no turn if it has no text that the model is shown.
Result<std::vector<Turn>> read_turns(const json::value& value, Position position,
                                     std::vector<std::string>& warnings) {
  if (!value.is_object()) return wrong_type("an object with \"role\" and \"content\"", value);
  const json::object& message = value.get_object();
  TRY(const std::string role, read_member(message, "role"));
  Turn turn;
  for (const std::string_view known : {"user", "assistant", "system"})
    if (role == known) turn.role = known;
  if (turn.role.empty())
    return in_field("role", wrong_value(fmt::format("expected user or assistant, got \"{}\"", role)));
  TRY(const SystemOptions options, read_system_options(message, turn.role, warnings));
  const bool is_cleared = options.until_next_user && position == Position::before_user;
  const json::value* content = member_of(message, "content");
  if (content == nullptr && options.has_output_config) return std::vector<Turn>();
  if (content == nullptr) return in_field("content", missing(kContentShapes));
  if (content->is_string()) {
    if (is_cleared) return std::vector<Turn>();
    turn.text = content->get_string();
    turn.has_text = true;
    return std::vector{std::move(turn)};
  }
  if (!content->is_array()) return in_field("content", wrong_type(kContentShapes, *content));
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < content->get_array().size(); ++i) {
    const json::value& block = content->get_array()[i];
    if (is_cleared && is_of_type(block, "text")) continue;
    if (turn.role == "assistant" && !turn.results.empty() && !is_of_type(block, "mcp_tool_result"))
      turns.push_back(std::exchange(turn, Turn{.role = turn.role}));
    if (Status status = add_block(block, turn); !status.ok())
      return in_field("content", in_field(fmt::format("[{}]", i), std::move(status).error()));
  }
  if (!is_cleared || !turn.text.empty()) turns.push_back(std::move(turn));
  return turns;
}

// Joins consecutive turns of one role, since many templates want roles to alternate. Returns whether it did.
bool join_to_last(json::array& messages, const Turn& turn) {
  if (messages.empty() || !turn.calls.empty() || !turn.reasoning.empty()) return false;
  json::object& last = messages.back().get_object();
  if (last.at("role").get_string() != turn.role || last.contains("tool_calls")) return false;
  std::string text(last.at("content").get_string());
  append_line(text, turn.text);
  last["content"] = text;
  return true;
}

void add_message(Turn turn, json::array& messages) {
  json::object message{{"role", turn.role}, {"content", turn.text}};
  if (!turn.reasoning.empty()) message["reasoning_content"] = turn.reasoning;
  if (!turn.calls.empty()) message["tool_calls"] = std::move(turn.calls);
  messages.push_back(std::move(message));
}

// A user's tool results belong to the turn before it. Results of the server's tools belong to their own turn.
void add_turn(Turn turn, json::array& messages) {
  if (turn.role == "assistant") {
    json::array results = std::exchange(turn.results, {});
    if (!join_to_last(messages, turn)) add_message(std::move(turn), messages);
    for (json::value& result : results) messages.push_back(std::move(result));
    return;
  }
  for (json::value& result : turn.results) messages.push_back(std::move(result));
  if (!turn.results.empty() && !turn.has_text) return;
  if (!join_to_last(messages, turn)) add_message(std::move(turn), messages);
}

bool is_of_user(const json::value& message) {
  const json::value* role = message.is_object() ? message.get_object().if_contains("role") : nullptr;
  return role != nullptr && *role == "user";
}

bool begins_the_answer(const json::array& messages) {
  const json::object& last = messages.back().get_object();
  return last.at("role").get_string() == "assistant" && !last.contains("tool_calls");
}

}  // namespace

Status read_anthropic_messages(json::object& body, ChatRequest& chat) {
  if (const json::value* system = body.if_contains("system"); system != nullptr && !system->is_null()) {
    auto text = read_text(*system, "the system prompt");
    if (!text.ok()) return in_field("system", std::move(text).error());
    if (!text->empty()) chat.messages.push_back(json::object{{"role", "system"}, {"content", *text}});
  }
  const json::value& value = body.at("messages");
  if (!value.is_array()) return in_field("messages", wrong_type("an array of messages", value));
  const json::array& messages = value.get_array();
  if (messages.empty()) return in_field("messages", wrong_value("expected at least one message"));
  const auto last_user = std::ranges::find_if(messages.rbegin(), messages.rend(), is_of_user);
  const auto num_to_user = static_cast<std::size_t>(messages.rend() - last_user);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto turns = read_turns(messages[i], i + 1 < num_to_user ? Position::before_user : Position::after_user,
                            chat.params.warnings);
    if (!turns.ok()) return in_field("messages", in_field(fmt::format("[{}]", i), std::move(turns).error()));
    for (Turn& turn : *turns) add_turn(std::move(turn), chat.messages);
  }
  if (chat.messages.empty()) return in_field("messages", wrong_value("expected a message with content"));
  if (!begins_the_answer(chat.messages)) return base::ok();
  chat.prefill = chat.messages.back().at("content").get_string();
  if (chat.prefill.find_last_not_of(" \t\r\n") + 1 != chat.prefill.size())
    return in_field("messages",
                    wrong_value("the last message begins the answer and must not end in a blank"));
  chat.messages.pop_back();
  if (chat.messages.empty())
    return in_field("messages", wrong_value("expected a message that is not the beginning of the answer"));
  return base::ok();
}

}  // namespace kvasir::api
