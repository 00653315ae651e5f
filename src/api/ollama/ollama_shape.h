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

// How an answer of Ollama's API is written.
struct OllamaWriting {
  enum class Form : std::uint8_t {
    message,   // of /api/chat
    response,  // of /api/generate
  };

  Form form = Form::message;
  std::string asked;  // the model by the client's name for it
  const base::Clock& clock;
  base::TimePoint began;  // when the request came
};

// Ollama's answer: lines of JSON, the last of which has `done`; or one object that is like that line and has
// the text too.
std::unique_ptr<AnswerShape> ollama_shape(AnswerHead head, OllamaWriting writing);

// The name "m:latest" of the model "m". Other tags are part of a name.
std::string tagged_name(std::string_view name);
// The time now as Ollama writes it.
std::string ollama_time();
// Unix time in the same form.
std::string ollama_time(std::int64_t unix_s);

}  // namespace kvasir::api
