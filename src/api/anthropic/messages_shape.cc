#include "api/anthropic/messages_shape.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/answer/delta/answer_parts.h"

namespace kvasir::api {

using Kind = AnswerPart::Kind;

namespace {

// As in Anthropic's API, cached tokens do not count as input tokens.
json::object usage_object(const wire::Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.output_tokens}};
}

// Parses a call's arguments. Arguments that were cut off are not valid JSON and become an empty object.
json::value input_of(std::string_view arguments) {
  auto parsed = base::parse_json(arguments);
  return parsed.ok() && parsed->is_object() ? std::move(*parsed) : json::value(json::object());
}

json::object block_of(const AnswerPart& part) {
  switch (part.kind) {
    case Kind::reasoning:
      return {{"type", "thinking"}, {"thinking", part.text}, {"signature", ""}};
    case Kind::call:
      return {{"type", "tool_use"},
              {"id", part.call_id},
              {"name", part.call_name},
              {"input", input_of(part.text)}};
    case Kind::server_call:
      return {{"type", "mcp_tool_use"},
              {"id", part.server_call->id},
              {"name", part.server_call->name},
              {"server_name", part.server_call->name.substr(0, part.server_call->name.find("__"))},
              {"input", input_of(part.text)}};
    case Kind::text:
      break;
  }
  return {{"type", "text"}, {"text", part.text}};
}

json::object result_block(const ServerCall& call) {
  json::object text{{"type", "text"}, {"text", call.output}};
  return {{"type", "mcp_tool_result"},
          {"tool_use_id", call.id},
          {"is_error", call.status == ServerCall::Status::failed},
          {"content", json::array{std::move(text)}}};
}

// Returns the blocks of a whole answer. The results of concurrent calls come after all of those calls.
json::array blocks_of(const std::vector<AnswerPart>& parts) {
  json::array blocks;
  std::vector<ServerCall> round;
  const auto tell_results = [&] {
    for (const ServerCall& call : std::exchange(round, {})) blocks.push_back(result_block(call));
  };
  for (const AnswerPart& part : parts) {
    if (!round.empty() && (!part.server_call || part.server_call->round != round.front().round))
      tell_results();
    blocks.push_back(block_of(part));
    if (part.server_call) round.push_back(*part.server_call);
  }
  tell_results();
  return blocks;
}

json::object delta_of(const AnswerPart& part) {
  switch (part.kind) {
    case Kind::reasoning:
      return {{"type", "thinking_delta"}, {"thinking", part.text}};
    case Kind::call:
    case Kind::server_call:
      return {{"type", "input_json_delta"}, {"partial_json", part.text}};
    case Kind::text:
      break;
  }
  return {{"type", "text_delta"}, {"text", part.text}};
}

class MessagesShape final : public AnswerShape {
 public:
  MessagesShape(AnswerHead head, std::vector<std::string> stops)
      : head_(std::move(head)), stops_(std::move(stops)) {}

  std::string opening(int, const wire::Usage& usage) override {
    const json::object start{{"type", "message_start"}, {"message", message({}, {}, usage)}};
    return named_event(start) + std::string(kMessagesAnswer.ping);
  }

  std::string chunks(const Delta& delta) override {
    std::string events;
    for (const AnswerPart& part : parts_of(delta)) {
      if (part.server_call && part.server_call->ended()) continue;  // its result comes after the round
      if (!open_ || !part.continues(*open_)) {
        events += close_block();
        events += open_block(part);
      }
      if (part.text.empty()) continue;
      events += named_event({{"type", "content_block_delta"}, {"index", index_}, {"delta", delta_of(part)}});
    }
    if (delta.round) {
      events += close_block();
      for (const ServerCall& call : delta.round->calls) events += whole_block(result_block(call));
    }
    if (!delta.finish) return events;
    end_.finish = delta.finish;
    end_.has_calls = delta.has_calls;
    end_.stop_string = delta.stop_string;
    return events + close_block();
  }

  std::string closing(const wire::Usage& usage) override {
    json::object event{{"type", "message_delta"}};
    event["delta"] = {{"stop_reason", stop_reason(end_)}, {"stop_sequence", stop_sequence(end_)}};
    event["usage"] = usage_object(usage);
    add_receipt(head_, event);
    add_warnings(head_, event);
    return named_event(event) + named_event({{"type", "message_stop"}});
  }

  std::string failure(const base::Error& error) override { return error_event(error, ErrorStyle::anthropic); }

  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override {
    json::array content = blocks_of(parts_of(choices.front()));
    return base::json_text(message(std::move(content), choices.front(), usage));
  }

 private:
  std::string open_block(const AnswerPart& part) {
    open_ = part;
    AnswerPart empty = part;
    empty.text.clear();
    return named_event(
        {{"type", "content_block_start"}, {"index", ++index_}, {"content_block", block_of(empty)}});
  }

  std::string whole_block(json::object block) {
    std::string events = named_event(
        {{"type", "content_block_start"}, {"index", ++index_}, {"content_block", std::move(block)}});
    return events += named_event({{"type", "content_block_stop"}, {"index", index_}});
  }

  std::string close_block() {
    if (!open_) return {};
    open_.reset();
    return named_event({{"type", "content_block_stop"}, {"index", index_}});
  }

  bool ended_by_own_stop(const Delta& end) const {
    return !end.has_calls && !end.stop_string.empty() &&
           std::find(stops_.begin(), stops_.end(), end.stop_string) != stops_.end();
  }

  json::value stop_reason(const Delta& end) const {
    if (!end.finish) return nullptr;
    if (*end.finish == wire::FinishReason::length) return "max_tokens";
    if (end.has_calls) return "tool_use";
    return ended_by_own_stop(end) ? "stop_sequence" : "end_turn";
  }

  json::value stop_sequence(const Delta& end) const {
    return ended_by_own_stop(end) ? json::value(end.stop_string) : json::value(nullptr);
  }

  json::object message(json::array content, const Delta& end, const wire::Usage& usage) const {
    json::object message{{"id", head_.id},
                         {"type", "message"},
                         {"role", "assistant"},
                         {"model", head_.model},
                         {"content", std::move(content)},
                         {"stop_reason", stop_reason(end)},
                         {"stop_sequence", stop_sequence(end)},
                         {"usage", usage_object(usage)}};
    add_receipt(head_, message);
    if (end.finish) add_warnings(head_, message);
    return message;
  }

  const AnswerHead head_;
  const std::vector<std::string> stops_;
  std::optional<AnswerPart> open_;  // the first part of the block that is being streamed
  int index_ = -1;                  // index of that block, or of the last one
  Delta end_;                       // how the answer ended
};

}  // namespace

std::unique_ptr<AnswerShape> messages_shape(AnswerHead head, std::vector<std::string> stops) {
  return std::make_unique<MessagesShape>(std::move(head), std::move(stops));
}

}  // namespace kvasir::api
