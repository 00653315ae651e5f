#include "api/responses/responses_shape.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/delta/answer_parts.h"
#include "api/answer/shape/custom_input.h"
#include "api/responses/response_events.h"
#include "api/responses/stored_responses.h"

namespace kvasir::api {

using Kind = AnswerPart::Kind;

namespace {

json::object usage_object(const wire::Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details",
           json::object{{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", 0}}},
          {"output_tokens", usage.output_tokens},
          {"output_tokens_details", json::object{{"reasoning_tokens", 0}}},
          {"total_tokens", usage.prompt_tokens + usage.output_tokens}};
}

// An output item that is being written.
struct Item {
  Item(AnswerPart first, std::string id_in) : part(std::move(first)), id(std::move(id_in)) {}

  AnswerPart part;  // has the whole text so far
  std::string id;
  ClientTool tool = {};  // the tool, if the item is a call
  json::array logprobs = {};
  json::object begun = {};  // the item as it was first sent
};

json::object content_part(const Item& item) {
  if (item.part.kind == Kind::reasoning) return {{"type", "reasoning_text"}, {"text", item.part.text}};
  return {{"type", "output_text"},
          {"text", item.part.text},
          {"annotations", json::array()},
          {"logprobs", item.logprobs}};
}

json::object item_object(const Item& item, std::string_view status) {
  const AnswerPart& part = item.part;
  json::object object{{"id", item.id}};
  if (part.kind == Kind::call) {
    object["type"] = item.tool.is_custom ? "custom_tool_call" : "function_call";
    object["status"] = status;
    object["call_id"] = part.call_id;
    object["name"] = item.tool.name;
    if (!item.tool.name_space.empty()) object["namespace"] = item.tool.name_space;
    if (item.tool.is_custom)
      object["input"] = custom_input(part.text);
    else
      object["arguments"] = part.text;
    return object;
  }
  object["type"] = part.kind == Kind::reasoning ? "reasoning" : "message";
  object["status"] = status;
  if (part.kind == Kind::reasoning)
    object["summary"] = json::array();
  else
    object["role"] = "assistant";
  object["content"] = part.text.empty() ? json::array() : json::array{content_part(item)};
  return object;
}

// Makes the item of a call of this server's tools, in the shape of OpenAI's MCP calls.
json::object server_call_item(const ServerCall& call) {
  json::object item{{"id", call.id},
                    {"type", "mcp_call"},
                    {"status", "in_progress"},
                    {"server_label", call.name.substr(0, call.name.find("__"))},
                    {"name", call.name},
                    {"arguments", call.arguments},
                    {"output", nullptr},
                    {"error", nullptr},
                    {"approval_request_id", nullptr},
                    {"round", call.round}};
  if (call.status == ServerCall::Status::completed) {
    item["status"] = "completed";
    item["output"] = call.output;
  } else if (call.status == ServerCall::Status::failed) {
    item["status"] = "failed";
    json::object text{{"type", "text"}, {"text", call.output}};
    item["error"] = {{"type", "mcp_tool_execution_error"}, {"content", json::array{std::move(text)}}};
  }
  return item;
}

class ItemShape final : public ResponsesShape {
 public:
  ItemShape(AnswerHead head, json::object echo, ClientTools tools)
      : head_(std::move(head)), echo_(std::move(echo)), tools_(std::move(tools)) {}

  std::string opening(int, const wire::Usage&) override {
    const json::object begun = response("in_progress", nullptr);
    std::string events = events_.about("response.created", begun);
    return events += events_.about("response.in_progress", begun);
  }

  std::string chunks(const Delta& delta) override {
    std::string events;
    json::array logprobs = logprob_list(head_.tokenizer.get(), delta.lines);
    std::move(logprobs.begin(), logprobs.end(), std::back_inserter(lines_));
    for (const AnswerPart& part : parts_of(delta)) {
      if (!item_ || !part.continues(item_->part)) events += close_item("completed");
      if (part.server_call) {
        events += take_server_call(*part.server_call);
        continue;
      }
      if (!item_) events += open_item(part);
      events += extend_item(part);
    }
    if (!delta.finish) return events;
    finish_ = *delta.finish;
    ended_ = true;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    completed_s_ = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    return events + close_item(last_status());
  }

  std::string closing(const wire::Usage& usage) override {
    const bool cut = finish_ == wire::FinishReason::length;
    return events_.about(cut ? "response.incomplete" : "response.completed", complete_response(usage));
  }

  std::string failure(const base::Error& error) override {
    std::string events = std::exchange(unsent_, {}) + close_item("incomplete");
    json::object failed = response(is_cancelled(error) ? "cancelled" : "failed", nullptr);
    failed["error"] = error_object(error);
    return events += events_.about("response.failed", failed);
  }

  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override {
    return base::json_text(finished(choices.front(), usage));
  }

  json::object finished(const Delta& sum, const wire::Usage& usage) override {
    if (!ended_) (void)chunks(sum);
    return complete_response(usage);
  }

  json::object begun(std::string_view status) const override { return response(status, nullptr); }

  json::object ended_early(const Delta& sum, const wire::Usage& usage, const base::Error* error) override {
    if (output_.empty() && !item_) (void)chunks(sum);  // the answer is not streamed
    unsent_ += close_item("incomplete");
    json::object object = response(error == nullptr ? "cancelled" : "failed", usage_object(usage));
    if (error != nullptr) object["error"] = error_object(*error);
    add_receipt(head_, object);
    return object;
  }

 private:
  static json::object error_object(const base::Error& error) {
    const json::object body = error_body(error);
    return {{"code", "server_error"}, {"message", body.at("error").at("message")}};
  }

  // An error `cancelled` means cancellation for a background response only; others have lost their client.
  bool is_cancelled(const base::Error& error) const {
    const json::value* background = echo_.if_contains("background");
    return error.code == base::ErrorCode::cancelled && background != nullptr && *background == true;
  }

  std::string_view last_status() const {
    return finish_ == wire::FinishReason::length ? "incomplete" : "completed";
  }

  ClientTool client_tool(const std::string& name) const {
    const auto found = tools_.find(name);
    return found == tools_.end() ? ClientTool{.name = name} : found->second;
  }

  static std::string_view id_prefix(Kind kind, const ClientTool& tool) {
    if (kind == Kind::call) return tool.is_custom ? "ctc_" : "fc_";
    return kind == Kind::reasoning ? "rs_" : "msg_";
  }

  std::string open_item(const AnswerPart& first) {
    ClientTool tool = client_tool(first.call_name);
    item_.emplace(first, item_id(id_prefix(first.kind, tool), head_.id, output_.size()));
    item_->tool = std::move(tool);
    item_->part.text.clear();
    item_->begun = item_object(*item_, "in_progress");
    return events_.begin_item(output_.size(), item_->begun);
  }

  std::string extend_item(const AnswerPart& part) {
    item_->part.text += part.text;
    // The input of a custom tool is known only when its arguments are complete.
    if (part.text.empty() || item_->tool.is_custom) return {};
    json::array lines;
    if (part.kind == Kind::text) lines = take_lines();
    return events_.extend_item(output_.size(), item_->begun, part.text, std::move(lines));
  }

  // Takes the logprobs of the item's new text, and of other tokens since the last text.
  json::array take_lines() {
    json::array lines = std::exchange(lines_, {});
    item_->logprobs.insert(item_->logprobs.end(), lines.begin(), lines.end());
    return lines;
  }

  std::string close_item(std::string_view status) {
    if (!item_) return {};
    if (item_->part.kind == Kind::text) (void)take_lines();
    json::object object = item_object(*item_, status);
    std::string events;
    if (item_->tool.is_custom)
      events = events_.extend_item(output_.size(), item_->begun, object.at("input").get_string(), {});
    events += events_.complete_text(output_.size(), object);
    events += events_.end_item(output_.size(), object);
    output_.push_back(std::move(object));
    item_.reset();
    return events;
  }

  // Reports a call when it begins, with all its arguments, and when it ends. Other calls may begin or end in
  // between.
  std::string take_server_call(const ServerCall& call) {
    std::string events;
    json::object object = server_call_item(call);
    auto at = server_calls_.find(call.number);
    if (at == server_calls_.end()) {
      at = server_calls_.emplace(call.number, output_.size()).first;
      json::object begun = object;
      begun["arguments"] = "";
      events += events_.begin_item(at->second, begun);
      events += events_.extend_item(at->second, object, call.arguments, {});
      events += events_.complete_text(at->second, object);
      output_.push_back(nullptr);
    }
    if (call.ended()) events += events_.end_item(at->second, object);
    output_[at->second] = std::move(object);
    return events;
  }

  json::object response(std::string_view status, json::value usage) const {
    json::object object{{"id", head_.id},
                        {"object", "response"},
                        {"created_at", head_.created_s},
                        {"status", status},
                        {"error", nullptr},
                        {"incomplete_details", nullptr},
                        {"model", head_.model},
                        {"output", output_},
                        {"service_tier", "default"},
                        {"temperature", head_.temperature},
                        {"top_p", head_.top_p},
                        {"usage", std::move(usage)}};
    for (const auto& [key, value] : echo_) object[key] = value;
    add_warnings(head_, object);
    return object;
  }

  json::object complete_response(const wire::Usage& usage) const {
    json::object object = response(last_status(), usage_object(usage));
    if (finish_ == wire::FinishReason::length)
      object["incomplete_details"] = json::object{{"reason", "max_output_tokens"}};
    else
      object["completed_at"] = completed_s_;
    add_receipt(head_, object);
    return object;
  }

  const AnswerHead head_;
  const json::object echo_;
  const ClientTools tools_;
  ResponseEvents events_;
  std::optional<Item> item_;
  json::array output_;                       // complete items, and unfinished calls of server tools
  std::map<int, std::size_t> server_calls_;  // indices in `output_`, by the call's number
  std::string unsent_;                       // events of an answer that ended early
  json::array lines_;                        // logprobs that no item has taken yet
  bool ended_ = false;                       // `finish_` and `completed_s_` are valid
  std::int64_t completed_s_ = 0;
  wire::FinishReason finish_ = wire::FinishReason::stop;
};

}  // namespace

std::unique_ptr<ResponsesShape> responses_shape(AnswerHead head, json::object echo, ClientTools tools) {
  return std::make_unique<ItemShape>(std::move(head), std::move(echo), std::move(tools));
}

}  // namespace kvasir::api
