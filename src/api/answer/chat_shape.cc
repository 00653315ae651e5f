#include <optional>
#include <string>
#include <utility>

#include "api/answer/choice_shape.h"

namespace kvasir::api {

namespace {

class ChatShape final : public ChoiceShape {
 public:
  using ChoiceShape::ChoiceShape;

 protected:
  std::string_view object_name() const override { return "chat.completion"; }
  std::string_view chunk_name() const override { return "chat.completion.chunk"; }

  std::optional<json::object> opening_choice(int index) const override {
    json::object choice;
    choice["index"] = index;
    choice["delta"] = {{"role", "assistant"}, {"content", ""}};
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = nullptr;
    return choice;
  }

  json::object chunk_choice(const Delta& delta) const override {
    json::object content;
    if (!delta.reasoning.empty()) content["reasoning_content"] = delta.reasoning;
    const bool only_lines = delta.reasoning.empty() && delta.calls.empty();
    if (!delta.finish && (!delta.text.empty() || only_lines)) content["content"] = delta.text;
    if (!delta.calls.empty()) content["tool_calls"] = calls(delta);
    json::object choice;
    choice["index"] = delta.index;
    choice["delta"] = std::move(content);
    choice["logprobs"] = delta.lines.empty() ? json::value(nullptr) : logprobs(delta);
    choice["finish_reason"] = finish(delta);
    return choice;
  }

  void add_to_whole(const std::vector<Delta>& choices, json::object& answer) const override {
    if (head().with_prompt_logprobs) answer["prompt_logprobs"] = prompt_logprobs(choices.front().prompt);
  }

  json::object whole_choice(const Delta& delta) const override {
    json::object choice;
    choice["index"] = delta.index;
    json::object message{{"role", "assistant"}, {"content", delta.text}, {"refusal", nullptr}};
    if (!delta.reasoning.empty()) message["reasoning_content"] = delta.reasoning;
    if (!delta.calls.empty()) {
      if (delta.text.empty()) message["content"] = nullptr;
      message["tool_calls"] = whole_calls(delta);
    }
    choice["message"] = std::move(message);
    choice["logprobs"] = head().with_logprobs ? logprobs(delta) : json::value(nullptr);
    choice["finish_reason"] = finish(delta);
    return choice;
  }

 private:
  static json::value finish(const Delta& delta) {
    return delta.has_calls ? json::value("tool_calls") : finish_value(delta.finish);
  }

  static json::array calls(const Delta& delta) {
    json::array list;
    for (const CallDelta& call : delta.calls) {
      json::object object{{"index", call.index}};
      json::object function;
      if (!call.id.empty()) {
        object["id"] = call.id;
        object["type"] = "function";
        function["name"] = call.name;
      }
      function["arguments"] = call.arguments;
      object["function"] = std::move(function);
      list.push_back(std::move(object));
    }
    return list;
  }

  static json::array whole_calls(const Delta& delta) {
    json::array list;
    for (const CallDelta& call : delta.calls)
      list.push_back(
          json::object{{"id", call.id},
                       {"type", "function"},
                       {"function", json::object{{"name", call.name}, {"arguments", call.arguments}}}});
    return list;
  }

  json::value logprobs(const Delta& delta) const {
    return json::object{{"content", logprob_list(*head().tokenizer, delta.lines)}, {"refusal", nullptr}};
  }
};

}  // namespace

std::unique_ptr<AnswerShape> chat_shape(AnswerHead head) {
  return std::make_unique<ChatShape>(std::move(head));
}

}  // namespace kvasir::api
