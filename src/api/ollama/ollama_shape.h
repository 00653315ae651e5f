#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/answer/shape/answer_shape.h"
#include "base/clock.h"

namespace kvasir::api {

inline constexpr std::string_view kLines = "application/x-ndjson";
// Clients parse each line, and JSON may begin with blanks, so a ping is the beginning of the next line.
inline constexpr AnswerKind kOllamaAnswer = {"ollama-", " ", kLines};

// How to write an answer of Ollama's API.
struct OllamaWriting {
  enum class Form : std::uint8_t {
    message,   // the form of /api/chat
    response,  // the form of /api/generate
  };

  Form form = Form::message;
  std::string asked;  // the client's name for the model
  const base::Clock& clock;
  base::TimePoint began;  // when the request arrived
};

// Ollama's answer: lines of JSON, the last of which has `done`. An answer that is not streamed is one object
// like that last line, with the text.
std::unique_ptr<AnswerShape> ollama_shape(AnswerHead head, OllamaWriting writing);

// Returns "m:latest" for the model "m". A name that has a tag already stays as it is.
std::string tagged_name(std::string_view name);
// The present time in the form that Ollama uses.
std::string ollama_time();
// A Unix time in the same form.
std::string ollama_time(std::int64_t unix_s);

}  // namespace kvasir::api
