#include <string>
#include <utility>

#include "api/response_shape.h"

namespace kvasir::api {

namespace {

class ChatShape final : public ResponseShape {
 public:
  using ResponseShape::ResponseShape;

  std::string opening(int num_choices) const override {
    std::string events;
    for (int i = 0; i < num_choices; ++i) {
      json::object choice;
      choice["index"] = i;
      choice["delta"] = {{"role", "assistant"}, {"content", ""}};
      choice["logprobs"] = nullptr;
      choice["finish_reason"] = nullptr;
      events += event({std::move(choice)});
    }
    return events;
  }

 protected:
  std::string_view object_name() const override { return "chat.completion"; }
  std::string_view chunk_name() const override { return "chat.completion.chunk"; }

  json::object chunk_choice(const Delta& delta) const override {
    json::object content;
    if (!delta.finish) content["content"] = delta.text;
    json::object choice;
    choice["index"] = delta.index;
    choice["delta"] = std::move(content);
    choice["logprobs"] = delta.lines.empty() ? json::value(nullptr) : logprobs(delta);
    choice["finish_reason"] = finish_value(delta.finish);
    return choice;
  }

  json::object whole_choice(const Delta& delta) const override {
    json::object choice;
    choice["index"] = delta.index;
    choice["message"] = {{"role", "assistant"}, {"content", delta.text}, {"refusal", nullptr}};
    choice["logprobs"] = head().with_logprobs ? logprobs(delta) : json::value(nullptr);
    choice["finish_reason"] = finish_value(delta.finish);
    return choice;
  }

 private:
  json::object token(TokenId id, float logprob) const {
    json::array bytes;
    if (head().tokenizer->valid(id))
      for (const char c : head().tokenizer->bytes(id)) bytes.push_back(static_cast<unsigned char>(c));
    json::object object;
    object["token"] = token_text(*head().tokenizer, id);
    object["logprob"] = finite_logprob(logprob);
    object["bytes"] = std::move(bytes);
    return object;
  }

  json::value logprobs(const Delta& delta) const {
    json::array content;
    for (const TokenLine& line : delta.lines) {
      json::array top;
      for (const auto& [id, logprob] : line.logprob.top) top.push_back(token(id, logprob));
      json::object object = token(line.id, line.logprob.logprob);
      object["top_logprobs"] = std::move(top);
      content.push_back(std::move(object));
    }
    return json::object{{"content", std::move(content)}, {"refusal", nullptr}};
  }
};

}  // namespace

std::unique_ptr<ResponseShape> chat_shape(AnswerHead head) {
  return std::make_unique<ChatShape>(std::move(head));
}

}  // namespace kvasir::api
