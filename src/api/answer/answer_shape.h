#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/choice.h"
#include "api/http/error_map.h"
#include "base/json.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::api {

namespace json = boost::json;

// What is known of an answer before its first delta.
struct AnswerHead {
  std::string id;
  std::int64_t created_s = 0;
  std::string model;
  std::string fingerprint;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  bool with_logprobs = false;
  bool with_prompt_logprobs = false;
  std::string service_tier;           // empty: not asked for
  std::vector<std::string> warnings;  // of what was asked for and is not done
  bool include_usage = false;         // chunks carry "usage": null, and a last one the numbers
  // Fields that clients of OpenAI do not know, in the whole answer and in a chunk before the end. Whoever
  // shares it may add to it until then. Null: none.
  std::shared_ptr<json::object> extra = nullptr;
};

// Writes one answer as its endpoint has it: streamed, with `opening`, `chunks` of every delta in order and
// `closing`; or at once, with `whole` of the sums of the same deltas, and then nothing else. One thread.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;

  // Server-sent events that open the stream; may be empty. `usage` is what is known of the prompt by then.
  virtual std::string opening(int num_choices, const wire::Usage& usage) = 0;
  virtual std::string chunks(const Delta& delta) = 0;
  // What comes after the last delta.
  virtual std::string closing(const wire::Usage& usage) = 0;
  // What comes instead of the rest where the answer failed after its opening.
  virtual std::string failure(const base::Error& error) = 0;
  // The answer at once; `choices[i].index == i`, each with its finish.
  virtual std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) = 0;
};

using MakeShape = std::function<std::unique_ptr<AnswerShape>(AnswerHead head)>;

// An endpoint's way of answering, as far as it is the same for all its answers.
struct AnswerKind {
  std::string_view id_prefix;            // with its separator
  std::string_view ping = ": ping\n\n";  // what a stream says while there is nothing to say
};
inline constexpr AnswerKind kChatAnswer = {"chatcmpl-"};
inline constexpr AnswerKind kCompletionAnswer = {"cmpl-"};
inline constexpr AnswerKind kMessagesAnswer = {"msg_", "event: ping\ndata: {\"type\":\"ping\"}\n\n"};
inline constexpr AnswerKind kResponsesAnswer = {"resp_"};

std::unique_ptr<AnswerShape> chat_shape(AnswerHead head);
std::unique_ptr<AnswerShape> completion_shape(AnswerHead head);

// Adds what a delta says to the sum of those before it.
void join(Delta& sum, Delta delta);

// "event: <name>", as the newer APIs have it; `name` is the object's "type" too.
std::string named_event(const json::object& event);

// A logarithm that JSON can hold: OpenAI writes minus infinity as -9999.
double finite_logprob(float logprob);
// A token as a JSON string: bytes that are not UTF-8 by themselves become U+FFFD.
std::string token_text(const text::Tokenizer& tokenizer, TokenId id);
// [{token, logprob, bytes, top_logprobs}]
json::array logprob_list(const text::Tokenizer& tokenizer, const std::vector<TokenLine>& lines);

}  // namespace kvasir::api
