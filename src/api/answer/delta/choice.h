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
  // Set by an upstream, whose ids are not known: its words. The id and the alternatives above say nothing.
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

// How long a sum of deltas was when a round of this server's tools ended.
struct RoundEnd {
  std::size_t text = 0;
  std::size_t reasoning = 0;
  std::size_t calls = 0;
  std::size_t server_calls = 0;
};

// New output of one choice. The deltas of a choice, joined, are its answer: a streamed answer writes them one
// by one, a whole answer appends them, so the two cannot differ.
struct Delta {
  int index = 0;
  std::string text;
  std::string reasoning;
  std::vector<CallDelta> calls;
  std::vector<TokenLine> lines;     // empty unless logprobs were asked for
  std::vector<wire::Token> prompt;  // prompt tokens from the second on, if their logprobs were asked for
  int num_tokens = 0;               // tokens of this choice so far
  std::optional<wire::FinishReason> finish;
  bool has_calls = false;   // with `finish`: the choice ends in complete calls
  std::string stop_string;  // with `finish`: the stop string that ended the choice, if one did
  // Calls of this server's own tools. Each appears when it begins and again when it ends; a sum of deltas has
  // only the ends.
  std::vector<ServerCall> server_calls;
  std::shared_ptr<const ToolRound> round;  // set when a round has ended, after its calls
  std::vector<RoundEnd> round_ends;        // only in a sum of deltas

  bool says_nothing() const { return text.empty() && reasoning.empty() && calls.empty() && lines.empty(); }
  bool empty() const { return says_nothing() && !finish && server_calls.empty() && !round; }
};

// How to parse the text of an answer.
struct AnswerReading {
  std::shared_ptr<const text::AnswerSyntax> syntax;  // null: all text is content
  std::vector<TokenId> markers;                      // special tokens whose text the syntax knows
};

// A prompt that is repeated before its answers.
struct EchoedPrompt {
  std::string text;
  TokenId first_token = 0;
  bool alone = false;  // nothing is generated after it
};

// Turns one sequence's tokens into text. It emits whole characters only and ends before the first stop
// string. A token's line is held back together with its text, and is dropped if the stop string begins at or
// before the token.
class Choice {
 public:
  struct Stops {
    std::shared_ptr<const text::StopPatterns> patterns =
        std::make_shared<const text::StopPatterns>(std::vector<std::string>());  // shared by all choices
    int min_tokens = 0;  // stop strings are ignored before so many tokens
  };

  Choice(int index, std::shared_ptr<const text::Tokenizer> tokenizer, const Stops& stops,
         const AnswerReading& reading = {}, std::shared_ptr<const EchoedPrompt> echo = nullptr);

  Delta push(const wire::TokenEvent& event);

  // True after the end of the sequence or a stop string. Nothing may be pushed then.
  bool finished() const { return finish_.has_value(); }
  const wire::Usage& usage() const { return usage_; }

 private:
  struct HeldLine {
    TokenLine line;
    std::size_t begin;  // byte range in the text, before the stop string is cut off
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
  std::shared_ptr<const EchoedPrompt> echo_;  // null once it has been sent
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
