#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/answer_shape.h"

namespace kvasir::api {

// The shape of OpenAI's chat and text completions: an object with a list of choices, and a stream of such
// objects that all look alike.
class ChoiceShape : public AnswerShape {
 public:
  explicit ChoiceShape(AnswerHead head) : head_(std::move(head)) {}

  std::string opening(int num_choices, const wire::Usage& usage) override;
  // One event, or two where the delta has both something to say and an end.
  std::string chunks(const Delta& delta) override;
  // A chunk without choices, with the usage where it was asked for and this server's own fields where there
  // are any; and the end mark.
  std::string closing(const wire::Usage& usage) override;
  std::string failure(const base::Error& error) override;
  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override;

 protected:
  virtual std::string_view object_name() const = 0;
  virtual std::string_view chunk_name() const = 0;
  // What opens a choice's stream, if anything does.
  virtual std::optional<json::object> opening_choice(int index) const = 0;
  virtual json::object chunk_choice(const Delta& delta) const = 0;
  virtual json::object whole_choice(const Delta& choice) const = 0;
  // What the whole answer has besides its choices.
  virtual void add_to_whole(const std::vector<Delta>& /*choices*/, json::object& /*answer*/) const {}

  // vLLM's form: null for the first token, then from token id to what is known of it.
  json::array prompt_logprobs(const std::vector<wire::Token>& tokens) const;
  const AnswerHead& head() const { return head_; }

 private:
  std::string event(json::array choices) const;
  json::object object(std::string_view name, json::array choices) const;
  // Those that clients of OpenAI do not know.
  json::object own_fields() const;

  const AnswerHead head_;
};

// "stop", "length", or null while it goes on.
json::value finish_value(const std::optional<wire::FinishReason>& finish);

}  // namespace kvasir::api
