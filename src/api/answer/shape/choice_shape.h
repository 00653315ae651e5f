#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

// The shape of OpenAI's chat and text completions: an object with a list of choices, streamed as objects of
// one form.
class ChoiceShape : public AnswerShape {
 public:
  explicit ChoiceShape(AnswerHead head) : head_(std::move(head)) {}

  std::string opening(int num_choices, const wire::Usage& usage) override;
  // One event, or two if the delta has both content and an end. Each call of this server's tools adds one.
  std::string chunks(const Delta& delta) override;
  // A chunk without choices, which has the usage if it was asked for and this server's own fields if there
  // are any, and then the end mark.
  std::string closing(const wire::Usage& usage) override;
  std::string failure(const base::Error& error) override;
  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) override;

 protected:
  virtual std::string_view object_name() const = 0;
  virtual std::string_view chunk_name() const = 0;
  // The choice in the first event of its stream. Absent if there is no such event.
  virtual std::optional<json::object> opening_choice(int index) const = 0;
  // A choice of a chunk as JSON text, since building an object for every token costs more than its text.
  virtual std::string chunk_choice(const Delta& delta) const = 0;
  virtual json::object whole_choice(const Delta& choice) const = 0;
  // Adds further fields to the whole answer.
  virtual void add_to_whole(const std::vector<Delta>& /*choices*/, json::object& /*answer*/) const {}

  // The prompt's logprobs in vLLM's form: null for the first token, and for each other token a map from token
  // id to its logprob.
  json::array prompt_logprobs(const std::vector<wire::Token>& tokens) const;
  const AnswerHead& head() const { return head_; }
  // A choice as JSON text. `content` is the field of its text, with the name: "text":"abc".
  static std::string choice_text(const Delta& delta, std::string_view content, const json::value& logprobs,
                                 const json::value& finish);

 private:
  std::string event(std::string_view choice);
  // The event of a chunk with one choice or none, and further fields. Both parameters are JSON text.
  std::string chunk(std::string_view choice, std::string_view fields);
  // The fields at the beginning of chunks and of the whole answer, as JSON text after an open brace.
  std::string object_head(std::string_view name) const;
  // The fields of the answer that OpenAI's clients do not know.
  json::object own_fields() const;
  wire::Usage usage_so_far() const;

  const AnswerHead head_;
  std::string chunk_head_;  // the beginning of all chunks; empty before the first one
  wire::Usage prompt_usage_;
  std::map<int, int> num_tokens_;  // the number so far, by choice
};

// "stop" or "length", or null while the choice continues.
json::value finish_value(const std::optional<wire::FinishReason>& finish);

}  // namespace kvasir::api
