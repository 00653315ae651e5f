#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/delta/server_call.h"
#include "text/answer/answer_parser.h"
#include "text/answer/stop_matcher.h"
#include "text/answer/tool_syntax.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "upstream/chunk.h"
#include "wire/token_event.h"

namespace kvasir::api {

// A token whose text has been sent, for clients that asked for logprobs.
struct TokenLine {
  TokenId id = 0;
  std::optional<wire::TokenLogprob> logprob;  // absent for the first token of a prompt
  std::size_t text_offset = 0;                // characters of the answer before this token
  bool in_prompt = false;                     // the token is part of an echoed prompt
  // The token's text and alternatives as an upstream sent them; null for a model of this server. Upstreams
  // send no ids, so `id` and the alternatives in `logprob` mean nothing if it is set.
  std::shared_ptr<const upstream::SaidToken> said = nullptr;
};

// A piece of a tool call. Only the first piece has an id and a name.
struct CallDelta {
  int index = 0;
  std::string id;
  std::string name;
  std::string arguments;
  std::size_t text_before = 0;  // bytes of the same delta's text before this piece
};

// The lengths of a sum of deltas when a round of this server's tools ended.
struct RoundEnd {
  std::size_t text = 0;
  std::size_t reasoning = 0;
  std::size_t calls = 0;
  std::size_t server_calls = 0;
};

// New output of one choice. The answer of a choice is the sum of its deltas. A streamed answer writes them
// one by one and a whole answer appends them, so the two cannot differ.
struct Delta {
  int index = 0;
  std::string text;
  std::string reasoning;
  std::vector<CallDelta> calls;
  std::vector<TokenLine> lines;     // empty unless logprobs were asked for
  std::vector<wire::Token> prompt;  // the prompt's tokens after its first, if their logprobs were asked for
  int num_tokens = 0;               // tokens of this choice so far
  std::optional<wire::FinishReason> finish;
  bool has_calls = false;   // set with `finish`: the choice ends in complete calls
  std::string stop_string;  // set with `finish`: the stop string that ended the choice, or empty
  // Calls of this server's own tools. Each call is listed when it begins and again when it ends. A sum of
  // deltas has only the ends.
  std::vector<ServerCall> server_calls;
  std::shared_ptr<const ToolRound> round;  // set in the delta that ends a round, after the round's calls
  std::vector<RoundEnd> round_ends;        // only in a sum of deltas

  bool says_nothing() const { return text.empty() && reasoning.empty() && calls.empty() && lines.empty(); }
  bool empty() const { return says_nothing() && !finish && server_calls.empty() && !round; }
};

// How to parse the text of an answer.
struct AnswerReading {
  std::shared_ptr<const text::AnswerSyntax> syntax;  // null: all text is content
  std::vector<TokenId> markers;                      // special tokens whose text the syntax knows
};

// A prompt that the client wants repeated before its answers.
struct EchoedPrompt {
  std::string text;
  TokenId first_token = 0;
  bool alone = false;  // the answer is only the echo; nothing is generated
};

// Turns one sequence's tokens into text. Emits only whole characters, and nothing from the first stop string
// on. A token's line is sent with its text; it is dropped if the stop string begins at or before the token.
class Choice {
 public:
  struct Stops {
    std::shared_ptr<const text::StopPatterns> patterns =
        std::make_shared<const text::StopPatterns>(std::vector<std::string>());  // shared by all choices
    int min_tokens = 0;  // stop strings are ignored in this many first tokens
  };

  Choice(int index, std::shared_ptr<const text::Tokenizer> tokenizer, const Stops& stops,
         const AnswerReading& reading = {}, std::shared_ptr<const EchoedPrompt> echo = nullptr);

  Delta push(const wire::TokenEvent& event);

  // True after the end of the sequence or a stop string. `push` may not be called after that.
  bool finished() const { return finish_.has_value(); }
  const wire::Usage& usage() const { return usage_; }

 private:
  struct HeldLine {
    TokenLine line;
    std::size_t begin;  // byte range in the generated text, including what a stop string cuts off
    std::size_t end;
  };

  void echo_prompt(const EchoedPrompt& echo, const std::vector<wire::Token>& lines, Delta& delta);
  void take_token(const wire::Token& token, Delta& delta);
  void take_text(const std::string& text, Delta& delta);
  void give_out(std::string_view text, Delta& delta);
  void release_lines(Delta& delta);
  // Splits the delta's text into content, reasoning and calls.
  void read_answer(Delta& delta);

  const int index_;
  const int min_tokens_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  text::Detokenizer detokenizer_;
  text::StopMatcher stops_;
  std::vector<TokenId> markers_;
  std::optional<text::AnswerParser> parser_;
  text::ToolSyntax call_syntax_ = text::ToolSyntax::hermes;
  std::shared_ptr<const EchoedPrompt> echo_;  // null after it has been sent
  std::size_t num_echoed_chars_ = 0;
  std::deque<HeldLine> held_;
  std::size_t num_seen_bytes_ = 0;  // bytes detokenized so far
  std::size_t num_seen_chars_ = 0;
  std::size_t num_given_bytes_ = 0;  // bytes put into deltas so far
  int num_tokens_ = 0;
  std::optional<wire::FinishReason> finish_;
  wire::Usage usage_;
};

}  // namespace kvasir::api
