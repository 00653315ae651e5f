#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvasir::upstream {

// A token as an upstream told it, with its logprob and those of alternatives.
struct SaidToken {
  std::string text;
  float logprob = 0;
  bool has_logprob = true;                         // false: the first token of a prompt
  std::vector<std::pair<std::string, float>> top;  // as they came
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
  std::vector<SaidToken> tokens;  // where logprobs were asked for
  std::string finish;             // empty: it goes on
  std::string stop_string;        // with `finish`, where the upstream tells it

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

// Reads an event's data. Fields that are missing or null say nothing, and unknown ones are skipped. Errors:
// corrupt: it is not such an event, or has a choice beyond `num_choices`; unavailable: it is an error of the
// upstream's, whose words are the message.
base::Result<Chunk> read_chunk(std::string_view data, int num_choices);

}  // namespace kvasir::upstream
