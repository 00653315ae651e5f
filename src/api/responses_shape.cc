#include "api/responses_shape.h"

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer_parts.h"
#include "api/request_id.h"

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

std::string_view id_prefix(Kind kind) {
  return kind == Kind::call ? "fc_" : kind == Kind::reasoning ? "rs_" : "msg_";
}

// The events of an item's text, by its kind: response.<name>.delta and .done.
std::string_view event_name(Kind kind) {
  return kind == Kind::call        ? "function_call_arguments"
         : kind == Kind::reasoning ? "reasoning_text"
                                   : "output_text";
}

// An item of the output while it is being written.
struct Item {
  explicit Item(AnswerPart first) : part(std::move(first)), id(make_answer_id(id_prefix(part.kind))) {}

  AnswerPart part;  // its text is all that has come
  std::string id;
  json::array logprobs = {};
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
    object["type"] = "function_call";
    object["status"] = status;
    object["call_id"] = part.call_id;
    object["name"] = part.call_name;
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

class ItemShape final : public ResponsesShape {
 public:
  ItemShape(AnswerHead head, json::object echo) : head_(std::move(head)), echo_(std::move(echo)) {}

  std::string opening(int, const wire::Usage&) override {
    const json::object begun = response("in_progress", nullptr);
    std::string events = event("response.created", {{"response", begun}});
    return events += event("response.in_progress", {{"response", begun}});
  }

  std::string chunks(const Delta& delta) override {
    std::string events;
    json::array logprobs = logprob_list(*head_.tokenizer, delta.lines);
    std::move(logprobs.begin(), logprobs.end(), std::back_inserter(lines_));
    for (const AnswerPart& part : parts_of(delta)) {
      if (!item_ || !part.continues(item_->part)) {
        events += close_item("completed");
        events += open_item(part);
      }
      events += extend_item(part);
    }
    if (!delta.finish) return events;
    finish_ = *delta.finish;
    ended_ = true;
    return events + close_item(last_status());
  }

  std::string closing(const wire::Usage& usage) override {
    const json::object done = complete_response(usage);
    return event(finish_ == wire::FinishReason::length ? "response.incomplete" : "response.completed",
                 {{"response", done}});
  }

  std::string failure(const base::Error& error) override {
    json::object failed = response("failed", nullptr);
    const json::object body = error_body(error);
    failed["error"] = {{"code", "server_error"}, {"message", body.at("error").at("message")}};
    return event("response.failed", {{"response", std::move(failed)}});
  }

  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override {
    return base::json_text(finished(choices.front(), usage));
  }

  json::object finished(const Delta& sum, const wire::Usage& usage) override {
    if (!ended_) (void)chunks(sum);
    return complete_response(usage);
  }

 private:
  std::string_view last_status() const {
    return finish_ == wire::FinishReason::length ? "incomplete" : "completed";
  }

  std::string event(std::string_view type, json::object more) {
    json::object object{{"type", type}, {"sequence_number", sequence_number_++}};
    for (auto& [key, value] : more) object[key] = std::move(value);
    return named_event(object);
  }

  // An event about the item that is being written.
  std::string item_event(std::string_view type, json::object more) {
    json::object object{{"item_id", item_->id}, {"output_index", output_.size()}};
    if (item_->part.kind != Kind::call) object["content_index"] = 0;
    for (auto& [key, value] : more) object[key] = std::move(value);
    return event(type, std::move(object));
  }

  std::string open_item(const AnswerPart& first) {
    item_.emplace(first);
    item_->part.text.clear();
    std::string events = event("response.output_item.added", {{"output_index", output_.size()},
                                                              {"item", item_object(*item_, "in_progress")}});
    if (first.kind != Kind::call)
      events += item_event("response.content_part.added", {{"part", content_part(*item_)}});
    return events;
  }

  std::string extend_item(const AnswerPart& part) {
    item_->part.text += part.text;
    if (part.text.empty()) return {};
    json::object more{{"delta", part.text}};
    if (part.kind == Kind::text) more["logprobs"] = take_lines();
    return item_event(fmt::format("response.{}.delta", event_name(part.kind)), std::move(more));
  }

  // The tokens of text, and of whatever else there was since the last text.
  json::array take_lines() {
    json::array lines = std::exchange(lines_, {});
    item_->logprobs.insert(item_->logprobs.end(), lines.begin(), lines.end());
    return lines;
  }

  std::string close_item(std::string_view status) {
    if (!item_) return {};
    const Kind kind = item_->part.kind;
    if (kind == Kind::text) (void)take_lines();
    json::object text{{kind == Kind::call ? "arguments" : "text", item_->part.text}};
    if (kind == Kind::text) text["logprobs"] = item_->logprobs;
    if (kind == Kind::call) text["name"] = item_->part.call_name;
    std::string events = item_event(fmt::format("response.{}.done", event_name(kind)), std::move(text));
    if (kind != Kind::call)
      events += item_event("response.content_part.done", {{"part", content_part(*item_)}});
    json::object object = item_object(*item_, status);
    events += event("response.output_item.done", {{"output_index", output_.size()}, {"item", object}});
    output_.push_back(std::move(object));
    item_.reset();
    return events;
  }

  json::object response(std::string_view status, json::value usage) const {
    json::object object{{"id", head_.id},
                        {"object", "response"},
                        {"created_at", head_.created_s},
                        {"status", status},
                        {"background", false},
                        {"error", nullptr},
                        {"incomplete_details", nullptr},
                        {"model", head_.model},
                        {"output", output_},
                        {"service_tier", "default"},
                        {"usage", std::move(usage)}};
    for (const auto& [key, value] : echo_) object[key] = value;
    return object;
  }

  json::object complete_response(const wire::Usage& usage) const {
    json::object object = response(last_status(), usage_object(usage));
    if (finish_ == wire::FinishReason::length)
      object["incomplete_details"] = json::object{{"reason", "max_output_tokens"}};
    return object;
  }

  const AnswerHead head_;
  const json::object echo_;
  std::int64_t sequence_number_ = 0;
  std::optional<Item> item_;
  json::array output_;  // items that are complete
  json::array lines_;   // logprobs that belong to no item yet
  bool ended_ = false;  // with `finish_`
  wire::FinishReason finish_ = wire::FinishReason::stop;
};

}  // namespace

std::unique_ptr<ResponsesShape> responses_shape(AnswerHead head, json::object echo) {
  return std::make_unique<ItemShape>(std::move(head), std::move(echo));
}

}  // namespace kvasir::api
