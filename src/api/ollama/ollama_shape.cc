#include "api/ollama/ollama_shape.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace kvasir::api {

using Form = OllamaWriting::Form;

namespace {

// Parses a call's arguments. Arguments that were cut off are not valid JSON and become an empty object.
json::value arguments_of(std::string_view text) {
  auto parsed = base::parse_json(text);
  return parsed.ok() && parsed->is_object() ? std::move(*parsed) : json::value(json::object());
}

json::object call_object(const CallDelta& call) {
  return {{"id", call.id},
          {"function",
           json::object{
               {"index", call.index}, {"name", call.name}, {"arguments", arguments_of(call.arguments)}}}};
}

// The text, reasoning and calls for one line, or for a whole answer.
struct Words {
  std::string_view text;
  std::string_view reasoning;
  std::vector<CallDelta> calls;  // complete ones
  const std::vector<TokenLine>* lines = nullptr;
};

std::int64_t ns_of(double seconds) {
  return static_cast<std::int64_t>(std::max(seconds, 0.0) * 1e9);
}

class OllamaShape final : public AnswerShape {
 public:
  OllamaShape(AnswerHead head, OllamaWriting writing)
      : head_(std::move(head)), writing_(std::move(writing)), ready_(writing_.clock.now()) {}

  std::string opening(int, const wire::Usage&) override { return {}; }

  // A call is written when it is complete: when the next one begins, or at the end.
  std::string chunks(const Delta& delta) override {
    Words words{.text = delta.text, .reasoning = delta.reasoning, .lines = &delta.lines};
    for (const CallDelta& piece : delta.calls) {
      if (open_ && open_->index == piece.index) {
        open_->arguments += piece.arguments;
        continue;
      }
      if (open_) words.calls.push_back(std::move(*open_));
      open_ = piece;
    }
    const bool ends = delta.finish || delta.round;
    if (ends && open_) words.calls.push_back(std::move(*std::exchange(open_, std::nullopt)));
    if (delta.finish) finish_ = *delta.finish;
    if (words.text.empty() && words.reasoning.empty() && words.calls.empty() && delta.lines.empty())
      return {};
    json::object line = head_line();
    add_words(words, line);
    line["done"] = false;
    return base::json_text(line) + "\n";
  }

  std::string closing(const wire::Usage& usage) override {
    json::object line = head_line();
    add_words({}, line);
    add_end(finish_, usage, line);
    return base::json_text(line) + "\n";
  }

  std::string failure(const base::Error& error) override { return error_event(error, ErrorStyle::ollama); }

  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override {
    const Delta& answer = choices.front();
    json::object object = head_line();
    add_words(
        {.text = answer.text, .reasoning = answer.reasoning, .calls = answer.calls, .lines = &answer.lines},
        object);
    add_end(answer.finish.value_or(wire::FinishReason::stop), usage, object);
    return base::json_text(object);
  }

 private:
  // The client's own name for the model, unless another model answered than the one that the client named.
  std::string_view model() const {
    return writing_.asked == head_.model || writing_.asked == tagged_name(head_.model) ? writing_.asked
                                                                                       : head_.model;
  }

  json::object head_line() const { return {{"model", model()}, {"created_at", ollama_time()}}; }

  void add_words(const Words& words, json::object& object) const {
    if (writing_.form == Form::response) {
      object["response"] = words.text;
      if (!words.reasoning.empty()) object["thinking"] = words.reasoning;
    } else {
      json::object message{{"role", "assistant"}, {"content", words.text}};
      if (!words.reasoning.empty()) message["thinking"] = words.reasoning;
      json::array calls;
      for (const CallDelta& call : words.calls) calls.push_back(call_object(call));
      if (!calls.empty()) message["tool_calls"] = std::move(calls);
      object["message"] = std::move(message);
    }
    if (words.lines != nullptr && !words.lines->empty())
      object["logprobs"] = logprob_list(head_.tokenizer.get(), *words.lines);
  }

  // Adds how the answer ended. The time in the queue counts as loading: Ollama has no field for it.
  void add_end(wire::FinishReason finish, const wire::Usage& usage, json::object& object) const {
    const std::int64_t total = (writing_.clock.now() - writing_.began).count();
    const std::int64_t load = std::min(total, (ready_ - writing_.began).count() + ns_of(usage.queued_s));
    const std::int64_t prompt = std::min(total - load, ns_of(usage.prefill_s));
    object["done"] = true;
    object["done_reason"] = finish == wire::FinishReason::length ? "length" : "stop";
    object["total_duration"] = total;
    object["load_duration"] = load;
    object["prompt_eval_count"] = usage.prompt_tokens;
    object["prompt_eval_duration"] = prompt;
    object["eval_count"] = usage.output_tokens;
    object["eval_duration"] = total - load - prompt;
    add_own(object);
    add_warnings(head_, object);
  }

  // Adds the receipt, and what was done about a chat that did not fit. The latter is inside "kvasir", since a
  // field "context" means tokens to Ollama's clients.
  void add_own(json::object& object) const {
    add_receipt(head_, object);
    const json::value* context = head_.extra ? head_.extra->if_contains("context") : nullptr;
    if (context == nullptr) return;
    json::value& own = object["kvasir"];
    if (!own.is_object()) own.emplace_object();
    own.get_object()["context"] = *context;
  }

  const AnswerHead head_;
  const OllamaWriting writing_;
  const base::TimePoint ready_;    // when the request got its place
  std::optional<CallDelta> open_;  // the call whose arguments are still coming
  wire::FinishReason finish_ = wire::FinishReason::stop;
};

std::string time_text(std::chrono::sys_time<std::chrono::nanoseconds> time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), (time - seconds).count());
}

}  // namespace

std::unique_ptr<AnswerShape> ollama_shape(AnswerHead head, OllamaWriting writing) {
  return std::make_unique<OllamaShape>(std::move(head), std::move(writing));
}

std::string tagged_name(std::string_view name) {
  return name.find(':') == name.npos ? std::string(name) + ":latest" : std::string(name);
}

std::string ollama_time() {
  return time_text(std::chrono::system_clock::now());
}

std::string ollama_time(std::int64_t unix_s) {
  return time_text(std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::seconds(unix_s)));
}

}  // namespace kvasir::api
