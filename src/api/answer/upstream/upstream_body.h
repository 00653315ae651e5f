#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/answer/question/question.h"

namespace kvasir::api {

// A question in the words of an upstream.
struct UpstreamBody {
  std::string path;            // "/chat/completions"
  std::string fields;          // see upstream::Ask
  std::uint64_t affinity = 0;  // a hash of what it belongs to, or else of how it begins
  int num_prompts = 1;
  int prompt_tokens = 0;                   // of all prompts together; estimated
  std::vector<std::string> warnings = {};  // about fields that an upstream may not know
};

// Writes a question as OpenAI's request for a stream. Refuses what needs the model's tokenizer. May take
// long, so it may run on any thread.
base::Result<UpstreamBody> write_upstream_body(const QuestionText& text);

}  // namespace kvasir::api
