#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/question/question.h"

namespace kvasir::api {

// How long a client wants a model to stay loaded after a request, as far as the difference matters here.
enum class KeepAlive : std::uint8_t {
  unsaid,
  forever,
  some_time,
  not_at_all,
};

// A checked POST /api/chat or /api/generate of Ollama's API.
struct OllamaRequest {
  enum class Use : std::uint8_t { answer, load, unload };

  ChatRequest chat;                // its params are also those of a raw prompt
  std::optional<std::string> raw;  // a prompt that no template is put around
  std::string suffix;     // the text after the gap that follows the raw prompt; empty: there is no gap
  Use use = Use::answer;  // load and unload: there is no question
  KeepAlive keep_alive = KeepAlive::unsaid;
  std::optional<int> num_ctx;  // the context length that the client expects
  bool wants_thinking = false;

  GenerateParams& params() { return chat.params; }
  const GenerateParams& params() const { return chat.params; }
  // Moves the question out; call it last.
  QuestionText take_text();
};

// Moves the request's texts out of `body`.
base::Result<OllamaRequest> read_ollama_chat(json::object body);
base::Result<OllamaRequest> read_ollama_generate(json::object body);

// Converts "messages" to the form that chat templates need. Calls get ids, and results the ids of calls.
base::Result<json::array> read_ollama_messages(const json::value& messages);

// Reads the field "options". An ignored option becomes a warning.
base::Status read_ollama_options(const json::value& value, OllamaRequest& request);
// Reads a number of seconds, or a text such as "5m". A negative value means forever.
base::Result<KeepAlive> read_keep_alive(const json::value& value);

// Reads the options of a request for embeddings. Only those that could change a text's length matter.
base::Status read_embedding_options(const json::value& value, std::vector<std::string>& warnings);

// The schemas of the bodies, for /openapi.json.
json::object ollama_chat_schema();
json::object ollama_generate_schema();

inline constexpr std::string_view kOllamaModelSchema =
    R"({"type": "string", "description": "One of those that GET /api/tags lists; the tag `latest` may be left out."})";
inline constexpr std::string_view kOllamaOptionsSchema = R"({"type": "object", "properties": {
    "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 2},
    "top_p": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "min_p": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "top_k": {"type": ["integer", "null"], "minimum": -1, "maximum": 2147483647},
    "seed": {"type": ["integer", "null"], "description": "-1: another one each time."},
    "num_predict": {"type": ["integer", "null"], "description": "Tokens of the answer; -1 or -2: the rest of the context."},
    "num_ctx": {"type": ["integer", "null"], "minimum": 1, "maximum": 2147483647,
                "description": "The model's own context is used; another number is a warning."},
    "stop": {"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"type": "string"}}]},
    "repeat_penalty": {"type": ["number", "null"], "minimum": 0.01, "maximum": 10},
    "repeat_last_n": {"type": ["integer", "null"], "minimum": -1, "maximum": 2147483647,
                      "description": "0: no penalties; otherwise they look at the whole text."},
    "presence_penalty": {"type": ["number", "null"], "minimum": -2, "maximum": 2},
    "frequency_penalty": {"type": ["number", "null"], "minimum": -2, "maximum": 2}}})";
inline constexpr std::string_view kKeepAliveIgnored = "keep_alive: ignored, a served model stays loaded";
inline constexpr std::string_view kKeepAliveSchema =
    R"({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^-?[0-9]"}],
        "description": "0 without a prompt unloads a model that was not named at the start, if the caller may. A served model stays loaded otherwise, and anything but a negative number is a warning."})";

}  // namespace kvasir::api
