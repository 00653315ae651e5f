#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer/delta/choice.h"
#include "api/http/json/error_map.h"
#include "base/json.h"
#include "net/responder.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::api {

namespace json = boost::json;

// The part of an answer that is known before its first delta.
struct AnswerHead {
  std::string id;
  std::int64_t created_s = 0;
  std::string model;
  std::string fingerprint;
  int window = 0;                                    // tokens of prompt and answer together
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null if an upstream answers
  bool with_logprobs = false;
  bool with_prompt_logprobs = false;
  double temperature = 1;             // the value that is used, after any advice
  double top_p = 1;                   // the value that is used, after any advice
  std::string service_tier;           // empty if the request names none
  std::vector<std::string> warnings;  // about what was asked for but is not done
  bool include_usage = false;         // chunks carry "usage": null, and one more chunk carries the numbers
  bool continuous_usage = false;      // chunks carry the numbers so far instead of null
  // Fields that OpenAI's clients do not know. They go into the whole answer, or into a chunk before the end
  // of a stream. Those who share the object may add to it until then. Null if there are none.
  std::shared_ptr<json::object> extra = nullptr;
};

// Writes one answer in the shape of its endpoint. A stream is `opening`, then `chunks` for every delta in
// order, then `closing`. A whole answer is one call of `whole` with the sums of the same deltas. Used on one
// thread.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;

  // The events, or lines, that open the stream; may be empty. `usage` has what is known about the prompt so
  // far.
  virtual std::string opening(int num_choices, const wire::Usage& usage) = 0;
  virtual std::string chunks(const Delta& delta) = 0;
  // The events after the last delta.
  virtual std::string closing(const wire::Usage& usage) = 0;
  // The events that end a stream whose answer failed after its opening.
  virtual std::string failure(const base::Error& error) = 0;
  // The whole answer. `choices[i].index == i`, and every choice has `finish` set.
  virtual std::string whole(const std::vector<Delta>& choices, const wire::Usage& usage) = 0;
};

using MakeShape = std::function<std::unique_ptr<AnswerShape>(AnswerHead head)>;

// The properties that all answers of an endpoint share.
struct AnswerKind {
  std::string_view id_prefix;                  // includes its separator
  std::string_view ping = ": ping\n\n";        // sent while a stream has no deltas
  std::string_view media = net::kEventStream;  // the media type of a stream
};
inline constexpr AnswerKind kChatAnswer = {"chatcmpl-"};
inline constexpr AnswerKind kCompletionAnswer = {"cmpl-"};
inline constexpr AnswerKind kMessagesAnswer = {"msg_", "event: ping\ndata: {\"type\":\"ping\"}\n\n"};
inline constexpr AnswerKind kResponsesAnswer = {"resp_"};

// `custom_tools` has the names of the tools whose calls are written as calls of custom tools.
std::unique_ptr<AnswerShape> chat_shape(AnswerHead head, std::set<std::string> custom_tools);
std::unique_ptr<AnswerShape> completion_shape(AnswerHead head);

// Appends a delta to the sum of the deltas before it.
void join(Delta& sum, Delta delta);

// Adds the receipt to an object, if the request asked for one and the answer has ended. For shapes that write
// nothing else of `extra`.
void add_receipt(const AnswerHead& head, json::object& object);

// Adds the warnings about the request, if there are any.
void add_warnings(const AnswerHead& head, json::object& object);

// A server-sent event with an "event:" line that repeats the object's "type". The newer APIs have this form.
std::string named_event(const json::object& event);

// A logprob that JSON can represent. Minus infinity becomes -9999, as OpenAI writes it.
double finite_logprob(float logprob);
// A token as a JSON string. Bytes that are not valid UTF-8 in the token alone become U+FFFD.
std::string token_text(const text::Tokenizer& tokenizer, TokenId id);
// A line's token as a JSON string, and its alternatives. `tokenizer` is null for an upstream's answer.
std::string line_text(const text::Tokenizer* tokenizer, const TokenLine& line);
std::vector<std::pair<std::string, float>> line_alternatives(const text::Tokenizer* tokenizer,
                                                             const TokenLine& line);
// Logprobs in OpenAI's form for chats: [{token, logprob, bytes, top_logprobs}].
json::array logprob_list(const text::Tokenizer* tokenizer, const std::vector<TokenLine>& lines);

}  // namespace kvasir::api
