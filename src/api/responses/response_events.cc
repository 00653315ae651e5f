#include "api/responses/response_events.h"

#include <exception>
#include <utility>

#include "api/answer/shape/answer_shape.h"
#include "api/http/json/fields.h"

namespace kvasir::api {

using base::ErrorCode;
using base::Result;

namespace {

struct ItemKind {
  std::string_view text_event;   // event names are response.<this>.delta and .done
  bool has_parts;                // whether its text is in a content part
  std::string_view member = {};  // the member that has the text if there are no parts
};

ItemKind item_kind(const json::object& item) {
  const std::string_view type = item.at("type").as_string();
  if (type == "function_call") return {"function_call_arguments", false, "arguments"};
  if (type == "mcp_call") return {"mcp_call_arguments", false, "arguments"};
  if (type == "custom_tool_call") return {"custom_tool_call_input", false, "input"};
  return {type == "reasoning" ? "reasoning_text" : "output_text", true};
}

bool is_server_call(const json::object& item) {
  return item.at("type").as_string() == "mcp_call";
}

json::object empty_part(const json::object& item) {
  if (item.at("type").as_string() == "reasoning") return {{"type", "reasoning_text"}, {"text", ""}};
  return {{"type", "output_text"}, {"text", ""}, {"annotations", json::array()}, {"logprobs", json::array()}};
}

json::object part_of(const json::object& item) {
  const json::array& content = item.at("content").as_array();
  return content.empty() ? empty_part(item) : content.front().as_object();
}

// Returns the item as it was when it began: in progress and without content.
json::object blank(json::object item) {
  item["status"] = "in_progress";
  for (const std::string_view key : {"content", "arguments", "input", "output", "error"}) {
    json::value* value = item.if_contains(key);
    if (value == nullptr) continue;
    if (key == "content")
      *value = json::array();
    else if (key == "arguments" || key == "input")
      *value = "";
    else
      *value = nullptr;
  }
  return item;
}

// The fields of an event that locate an item's text.
json::object place(std::size_t index, const json::object& item) {
  json::object fields{{"item_id", item.at("id")}, {"output_index", index}};
  if (item_kind(item).has_parts) fields["content_index"] = 0;
  return fields;
}

std::string replay_item(ResponseEvents& events, std::size_t index, const json::object& item) {
  std::string text = events.begin_item(index, blank(item));
  if (item_kind(item).has_parts) {
    const json::object part = part_of(item);
    json::array logprobs;
    if (const json::value* lines = part.if_contains("logprobs")) logprobs = lines->as_array();
    text += events.extend_item(index, item, part.at("text").as_string(), std::move(logprobs));
  } else {
    text += events.extend_item(index, item, item.at(item_kind(item).member).as_string(), {});
  }
  text += events.complete_text(index, item);
  return text += events.end_item(index, item);
}

std::string all_events(const json::object& response) {
  json::object begun = response;
  begun["status"] = "in_progress";
  begun["output"] = json::array();
  begun["usage"] = nullptr;
  begun["error"] = nullptr;
  begun["completed_at"] = nullptr;
  begun["incomplete_details"] = nullptr;
  ResponseEvents events;
  std::string text = events.about("response.created", begun);
  text += events.about("response.in_progress", begun);
  std::size_t index = 0;
  for (const json::value& item : response.at("output").as_array())
    text += replay_item(events, index++, item.as_object());
  const std::string_view status = response.at("status").as_string();
  const std::string_view last = status == "completed" || status == "incomplete" ? status : "failed";
  return text += events.about(fmt::format("response.{}", last), response);
}

}  // namespace

std::string ResponseEvents::event(std::string_view type, json::object more) {
  json::object object{{"type", type}, {"sequence_number", next_number_++}};
  for (auto& [key, value] : more) object[key] = std::move(value);
  return named_event(object);
}

std::string ResponseEvents::about(std::string_view type, const json::object& response) {
  return event(type, {{"response", response}});
}

std::string ResponseEvents::begin_item(std::size_t index, const json::object& item) {
  std::string events = event("response.output_item.added", {{"output_index", index}, {"item", item}});
  json::object fields = place(index, item);
  if (is_server_call(item)) return events += event("response.mcp_call.in_progress", std::move(fields));
  if (!item_kind(item).has_parts) return events;
  fields["part"] = empty_part(item);
  return events += event("response.content_part.added", std::move(fields));
}

std::string ResponseEvents::extend_item(std::size_t index, const json::object& item, std::string_view delta,
                                        json::array logprobs) {
  if (delta.empty()) return {};
  json::object fields = place(index, item);
  fields["delta"] = delta;
  if (item.at("type").as_string() == "message") fields["logprobs"] = std::move(logprobs);
  return event(fmt::format("response.{}.delta", item_kind(item).text_event), std::move(fields));
}

std::string ResponseEvents::complete_text(std::size_t index, const json::object& item) {
  const ItemKind kind = item_kind(item);
  const std::string type = fmt::format("response.{}.done", kind.text_event);
  json::object fields = place(index, item);
  if (!kind.has_parts) {
    fields[kind.member] = item.at(kind.member);
    if (item.at("type").as_string() == "function_call") fields["name"] = item.at("name");
    return event(type, std::move(fields));
  }
  const json::object part = part_of(item);
  json::object text = fields;
  text["text"] = part.at("text");
  if (const json::value* logprobs = part.if_contains("logprobs")) text["logprobs"] = *logprobs;
  fields["part"] = part;
  std::string events = event(type, std::move(text));
  return events += event("response.content_part.done", std::move(fields));
}

std::string ResponseEvents::end_item(std::size_t index, const json::object& item) {
  std::string events;
  if (is_server_call(item)) {
    const bool failed = item.at("status").as_string() == "failed";
    events = event(failed ? "response.mcp_call.failed" : "response.mcp_call.completed", place(index, item));
  }
  return events += event("response.output_item.done", {{"output_index", index}, {"item", item}});
}

Result<std::string> replayed_events(const json::object& response, std::int64_t starting_after) {
  std::string events;
  try {
    events = all_events(response);
  } catch (const std::exception& e) {  // a member is missing or has another type
    return base::error(ErrorCode::corrupt, "a stored response cannot be read: {}", e.what());
  }
  std::string_view rest = events;
  std::int64_t number = 0;
  for (; number <= starting_after && !rest.empty(); ++number) rest.remove_prefix(rest.find("\n\n") + 2);
  if (number <= starting_after)
    return in_field("starting_after", wrong_value("the response has no event after that number"));
  return std::string(rest);
}

}  // namespace kvasir::api
