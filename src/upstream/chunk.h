#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvasir::upstream {

// A token as an upstream sent it, with its logprob and those of alternatives.
struct SaidToken {
  std::string text;
  float logprob = 0;
  bool has_logprob = true;                         // false: the first token of a prompt
  std::vector<std::pair<std::string, float>> top;  // in the upstream's order
};

// A piece of a tool call.
struct SaidCall {
  int index = 0;
  std::string id;
  std::string name;
  std::string arguments;
};

// New output of one choice.
struct SaidChoice {
  int index = 0;
  std::string text;
  std::string reasoning;
  std::vector<SaidCall> calls;
  std::vector<SaidToken> tokens;  // empty unless logprobs were asked for
  std::string finish;             // the finish reason; empty: the choice goes on
  std::string stop_string;        // comes with `finish`, if the upstream sends it

  bool says_something() const {
    return !text.empty() || !reasoning.empty() || !calls.empty() || !tokens.empty() || !finish.empty();
  }
};

struct SaidUsage {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt
  int output_tokens = 0;
};

// One event of an answer's stream, of a chat or of a completion.
struct Chunk {
  std::vector<SaidChoice> choices;
  std::optional<SaidUsage> usage;

  bool empty() const { return choices.empty() && !usage; }
};

// Reads an event's data. Missing, null and unknown fields are ignored. Errors: corrupt if the data is no such
// event or has a choice beyond `num_choices`; unavailable if the event is an error of the upstream, with the
// upstream's text as the message.
base::Result<Chunk> read_chunk(std::string_view data, int num_choices);

}  // namespace kvasir::upstream
