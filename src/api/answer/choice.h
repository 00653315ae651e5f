#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/server_call.h"
#include "text/answer/answer_parser.h"
#include "text/answer/stop_matcher.h"
#include "text/answer/tool_syntax.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "wire/token_event.h"

namespace kvasir::api {

// A token whose text has been given out, for clients that asked for logprobs.
struct TokenLine {
  TokenId id = 0;
  std::optional<wire::TokenLogprob> logprob;  // absent: it is a prompt's first
  std::size_t text_offset = 0;                // characters of the answer before it
  bool in_prompt = false;                     // echoed
};

// Part of a call of a tool; the first has an id and a name.
struct CallDelta {
  int index = 0;
  std::string id;
  std::string name;
  std::string arguments;
  std::size_t text_before = 0;  // bytes of the same delta's text
};

// How much of a sum of deltas there was when a round of this server's tools ended.
struct RoundEnd {
  std::size_t text = 0;
  std::size_t reasoning = 0;
  std::size_t calls = 0;
  std::size_t server_calls = 0;
};

// What became certain about one choice: the pieces of a choice, joined, are its answer. A streamed answer
// writes them one by one, another appends them, so that the two cannot differ.
struct Delta {
  int index = 0;
  std::string text;
  std::string reasoning;
  std::vector<CallDelta> calls;
  std::vector<TokenLine> lines;     // empty unless logprobs were asked for
  std::vector<wire::Token> prompt;  // of the prompt, from its second token on, where their logprobs were
  std::optional<wire::FinishReason> finish;
  bool has_calls = false;   // with `finish`: the choice ends in calls that are there as a whole
  std::string stop_string;  // with `finish`: the one that ended it, if one did
  // Calls of this server's own tools, as they begin and as they end; a sum of deltas has their ends.
  std::vector<ServerCall> server_calls;
  std::shared_ptr<const ToolRound> round;  // set where one has ended, after its calls
  std::vector<RoundEnd> round_ends;        // of a sum

  bool says_nothing() const { return text.empty() && reasoning.empty() && calls.empty() && lines.empty(); }
  bool empty() const { return says_nothing() && !finish && server_calls.empty() && !round; }
};

// How the text of an answer is to be read.
struct AnswerReading {
  std::shared_ptr<const text::AnswerSyntax> syntax;  // null: it is all content
  std::vector<TokenId> markers;                      // special tokens whose text the syntax knows
};

// A prompt that is to stand before its answers.
struct EchoedPrompt {
  std::string text;
  TokenId first_token = 0;
  bool alone = false;  // nothing is to stand after it
};

// One sequence's tokens on their way to text: whole characters, ended before the first stop string.
// A token's line is held back with its text, and dropped where the stop string begins at or before it.
class Choice {
 public:
  struct Stops {
    std::shared_ptr<const text::StopPatterns> patterns =
        std::make_shared<const text::StopPatterns>(std::vector<std::string>());  // shared by all choices
    int min_tokens = 0;  // none counts before so many tokens
  };

  Choice(int index, std::shared_ptr<const text::Tokenizer> tokenizer, const Stops& stops,
         const AnswerReading& reading = {}, std::shared_ptr<const EchoedPrompt> echo = nullptr);

  Delta push(const wire::TokenEvent& event);

  // True after the end of the sequence or a stop string; nothing is to be pushed any more.
  bool finished() const { return finish_.has_value(); }
  const wire::Usage& usage() const { return usage_; }

 private:
  struct HeldLine {
    TokenLine line;
    std::size_t begin;  // bytes of the text, before cutting
    std::size_t end;
  };

  void echo_prompt(const EchoedPrompt& echo, const std::vector<wire::Token>& lines, Delta& delta);
  void take_token(const wire::Token& token, Delta& delta);
  void take_text(const std::string& text, Delta& delta);
  void give_out(std::string_view text, Delta& delta);
  void release_lines(Delta& delta);
  // Takes the delta's text apart.
  void read_answer(Delta& delta);

  const int index_;
  const int min_tokens_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  text::Detokenizer detokenizer_;
  text::StopMatcher stops_;
  std::vector<TokenId> markers_;
  std::optional<text::AnswerParser> parser_;
  text::ToolSyntax call_syntax_ = text::ToolSyntax::hermes;
  std::shared_ptr<const EchoedPrompt> echo_;  // until it has been given out
  std::size_t num_echoed_chars_ = 0;
  std::deque<HeldLine> held_;
  std::size_t num_seen_bytes_ = 0;  // detokenized
  std::size_t num_seen_chars_ = 0;
  std::size_t num_given_bytes_ = 0;  // in deltas
  int num_tokens_ = 0;
  std::optional<wire::FinishReason> finish_;
  wire::Usage usage_;
};

}  // namespace kvasir::api
