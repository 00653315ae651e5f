#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/choice.h"
#include "base/json.h"
#include "text/tokenizer.h"

namespace kvasir::api {

namespace json = boost::json;

// What every chunk of an answer repeats.
struct AnswerHead {
  std::string id;
  std::int64_t created_s = 0;
  std::string model;
  std::string fingerprint;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  bool with_logprobs = false;
  bool include_usage = false;  // chunks carry "usage": null, and a last one the numbers
};

// How an endpoint writes an answer. Both forms are made of the same deltas: `chunks` of each, or `whole` of
// their sum.
class ResponseShape {
 public:
  explicit ResponseShape(AnswerHead head) : head_(std::move(head)) {}
  virtual ~ResponseShape() = default;

  // Server-sent events that open the stream; may be empty.
  virtual std::string opening(int num_choices) const = 0;
  // One event, or two where the delta has both something to say and an end.
  std::string chunks(const Delta& delta) const;
  // What comes after the last delta: the usage where it was asked for, and the end mark.
  std::string closing(const wire::Usage& usage) const;
  // The answer at once; `choices[i].index == i`, each with its finish.
  std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) const;

 protected:
  virtual std::string_view object_name() const = 0;
  virtual std::string_view chunk_name() const = 0;
  virtual json::object chunk_choice(const Delta& delta) const = 0;
  virtual json::object whole_choice(const Delta& choice) const = 0;

  std::string event(json::array choices, std::optional<json::object> usage = std::nullopt) const;
  const AnswerHead& head() const { return head_; }

 private:
  json::object object(std::string_view name, json::array choices) const;

  const AnswerHead head_;
};

// An endpoint's way of answering.
struct AnswerKind {
  std::string_view id_prefix;
  std::unique_ptr<ResponseShape> (*make_shape)(AnswerHead head);
};
std::unique_ptr<ResponseShape> chat_shape(AnswerHead head);
std::unique_ptr<ResponseShape> completion_shape(AnswerHead head);
inline constexpr AnswerKind kChatAnswer = {"chatcmpl", chat_shape};
inline constexpr AnswerKind kCompletionAnswer = {"cmpl", completion_shape};

// "stop", "length", or null while it goes on.
json::value finish_value(const std::optional<wire::FinishReason>& finish);
// A logarithm that JSON can hold: OpenAI writes minus infinity as -9999.
double finite_logprob(float logprob);
// A token as a JSON string: bytes that are not UTF-8 by themselves become U+FFFD.
std::string token_text(const text::Tokenizer& tokenizer, TokenId id);

}  // namespace kvasir::api
