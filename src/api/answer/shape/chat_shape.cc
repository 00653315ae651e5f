#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/answer/shape/choice_shape.h"
#include "api/answer/shape/custom_input.h"

namespace kvasir::api {

namespace {

class ChatShape final : public ChoiceShape {
 public:
  ChatShape(AnswerHead head, std::set<std::string> custom_tools)
      : ChoiceShape(std::move(head)), custom_tools_(std::move(custom_tools)) {}

  std::string chunks(const Delta& delta) override {
    return ChoiceShape::chunks(custom_tools_.empty() ? delta : with_inputs(delta));
  }

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

  std::string chunk_choice(const Delta& delta) const override {
    json::object content;
    if (!delta.reasoning.empty()) content["reasoning_content"] = delta.reasoning;
    const bool only_lines = delta.reasoning.empty() && delta.calls.empty();
    if (!delta.finish && (!delta.text.empty() || only_lines)) content["content"] = delta.text;
    if (!delta.calls.empty()) content["tool_calls"] = calls(delta);
    return choice_text(delta, "\"delta\":" + base::json_text(content),
                       delta.lines.empty() ? json::value(nullptr) : logprobs(delta), finish(delta));
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

  // A call of a custom tool whose arguments are being written, and all such calls of the choice so far.
  struct CustomCalls {
    std::optional<CallDelta> open;
    std::set<int> indices;
  };

  // The delta, with each custom tool's call changed to have its input in place of arguments. The input comes
  // in one piece, after its arguments are complete.
  Delta with_inputs(const Delta& delta) {
    CustomCalls& custom = custom_calls_[delta.index];
    Delta out = delta;
    out.calls.clear();
    const auto end_open = [&] {
      if (!custom.open) return;
      out.calls.push_back({.index = custom.open->index, .arguments = custom_input(custom.open->arguments)});
      custom.open.reset();
    };
    for (const CallDelta& call : delta.calls) {
      if (!call.id.empty()) end_open();
      if (!call.id.empty() && custom_tools_.contains(call.name)) {
        custom.open = call;
        custom.indices.insert(call.index);
        out.calls.push_back({.index = call.index, .id = call.id, .name = call.name});
      } else if (custom.open && custom.open->index == call.index) {
        custom.open->arguments += call.arguments;
      } else {
        out.calls.push_back(call);
      }
    }
    if (delta.finish) end_open();
    return out;
  }

  bool is_custom(const Delta& delta, const CallDelta& call) const {
    const auto found = custom_calls_.find(delta.index);
    return found != custom_calls_.end() && found->second.indices.contains(call.index);
  }

  json::array calls(const Delta& delta) const {
    json::array list;
    for (const CallDelta& call : delta.calls) {
      const bool custom = is_custom(delta, call);
      const char* kind = custom ? "custom" : "function";
      json::object object{{"index", call.index}};
      json::object inner;
      if (!call.id.empty()) {
        object["id"] = call.id;
        object["type"] = kind;
        inner["name"] = call.name;
      }
      inner[custom ? "input" : "arguments"] = call.arguments;
      object[kind] = std::move(inner);
      list.push_back(std::move(object));
    }
    return list;
  }

  json::array whole_calls(const Delta& delta) const {
    json::array list;
    for (const CallDelta& call : delta.calls) {
      json::object object{{"id", call.id}};
      if (custom_tools_.contains(call.name)) {
        object["type"] = "custom";
        object["custom"] = json::object{{"name", call.name}, {"input", custom_input(call.arguments)}};
      } else {
        object["type"] = "function";
        object["function"] = json::object{{"name", call.name}, {"arguments", call.arguments}};
      }
      list.push_back(std::move(object));
    }
    return list;
  }

  json::value logprobs(const Delta& delta) const {
    return json::object{{"content", logprob_list(head().tokenizer.get(), delta.lines)}, {"refusal", nullptr}};
  }

  const std::set<std::string> custom_tools_;
  std::map<int, CustomCalls> custom_calls_;  // for a stream only, by choice
};

}  // namespace

std::unique_ptr<AnswerShape> chat_shape(AnswerHead head, std::set<std::string> custom_tools) {
  return std::make_unique<ChatShape>(std::move(head), std::move(custom_tools));
}

}  // namespace kvasir::api
