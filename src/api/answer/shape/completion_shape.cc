#include <optional>
#include <string>
#include <utility>

#include "api/answer/shape/choice_shape.h"
#include "base/json_append.h"

namespace kvasir::api {

namespace {

class CompletionShape final : public ChoiceShape {
 public:
  using ChoiceShape::ChoiceShape;

 protected:
  std::string_view object_name() const override { return "text_completion"; }
  std::string_view chunk_name() const override { return "text_completion"; }

  std::optional<json::object> opening_choice(int) const override { return std::nullopt; }

  std::string chunk_choice(const Delta& delta) const override {
    std::string content = "\"text\":";
    base::append_json(content, delta.text);
    return choice_text(delta, content, delta.lines.empty() ? json::value(nullptr) : logprobs(delta),
                       finish_value(delta.finish));
  }

  json::object whole_choice(const Delta& delta) const override {
    json::object choice;
    choice["index"] = delta.index;
    choice["text"] = delta.text;
    const bool has_logprobs = head().with_logprobs || !delta.lines.empty();
    choice["logprobs"] = has_logprobs ? logprobs(delta) : json::value(nullptr);
    choice["finish_reason"] = finish_value(delta.finish);
    if (head().with_prompt_logprobs) choice["prompt_logprobs"] = prompt_logprobs(delta.prompt);
    return choice;
  }

 private:
  // Parallel arrays with one entry per token. A token is always among its own alternatives.
  json::value logprobs(const Delta& delta) const {
    json::array tokens;
    json::array token_logprobs;
    json::array top_logprobs;
    json::array text_offset;
    for (const TokenLine& line : delta.lines) {
      const std::string text = line_text(head().tokenizer.get(), line);
      tokens.emplace_back(text);
      text_offset.emplace_back(line.text_offset);
      if (!line.logprob) {
        token_logprobs.emplace_back(nullptr);
        top_logprobs.emplace_back(nullptr);
        continue;
      }
      json::object top;
      for (const auto& [other, logprob] : line_alternatives(head().tokenizer.get(), line))
        top.emplace(other, finite_logprob(logprob));
      top.emplace(text, finite_logprob(line.logprob->logprob));
      token_logprobs.emplace_back(finite_logprob(line.logprob->logprob));
      top_logprobs.emplace_back(std::move(top));
    }
    return json::object{{"tokens", std::move(tokens)},
                        {"token_logprobs", std::move(token_logprobs)},
                        {"top_logprobs", std::move(top_logprobs)},
                        {"text_offset", std::move(text_offset)}};
  }
};

}  // namespace

std::unique_ptr<AnswerShape> completion_shape(AnswerHead head) {
  return std::make_unique<CompletionShape>(std::move(head));
}

}  // namespace kvasir::api
