#include "upstream/chunk.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/json.h"

namespace kvasir::upstream {

namespace json = boost::json;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr int kMaxCalls = 256;          // of one choice
constexpr std::size_t kMaxTop = 64;     // alternatives of a token
constexpr std::size_t kMaxWords = 500;  // bytes kept of an upstream's error

const json::value* member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const json::object* object_member(const json::object& object, std::string_view name) {
  const json::value* value = member(object, name);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* array_member(const json::object& object, std::string_view name) {
  const json::value* value = member(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

std::string text_member(const json::object& object, std::string_view name) {
  const json::value* value = member(object, name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// A count, or 0 if there is none.
int count_member(const json::object& object, std::string_view name) {
  const json::value* value = member(object, name);
  if (value == nullptr || !value->is_number()) return 0;
  const double number = value->to_number<double>();
  if (!(number > 0)) return 0;
  return static_cast<int>(std::min(number, double{std::numeric_limits<int>::max() / 2}));
}

// The choice's index; -1: it is not valid.
int index_of(const json::object& object, int num) {
  const json::value* value = member(object, "index");
  if (value == nullptr) return 0;
  if (value->is_int64() && value->get_int64() >= 0 && value->get_int64() < num)
    return static_cast<int>(value->get_int64());
  return -1;
}

float logprob_of(const json::value& value) {
  return value.is_number() ? static_cast<float>(value.to_number<double>()) : -9999.0f;
}

base::Error not_an_event(std::string_view why) {
  return base::error(ErrorCode::corrupt, "an event that is not of an answer: {}", why);
}

base::Error its_error(const json::value& value) {
  std::string words = "it gave no reason";
  if (value.is_string()) words = std::string(value.get_string());
  if (const json::object* object = value.if_object())
    if (std::string message = text_member(*object, "message"); !message.empty()) words = std::move(message);
  if (words.size() > kMaxWords) {
    words.resize(kMaxWords);
    while (!words.empty() && (static_cast<unsigned char>(words.back()) & 0xC0) == 0x80) words.pop_back();
    if (!words.empty() && static_cast<unsigned char>(words.back()) >= 0x80) words.pop_back();
  }
  return base::error(ErrorCode::unavailable, "{}", words);
}

Status read_calls(const json::array& calls, SaidChoice& choice) {
  for (const json::value& value : calls) {
    const json::object* call = value.if_object();
    const int index = call == nullptr ? -1 : index_of(*call, kMaxCalls);
    if (index < 0) return not_an_event("a tool call without an index");
    SaidCall& said = choice.calls.emplace_back();
    said.index = index;
    said.id = text_member(*call, "id");
    if (const json::object* function = object_member(*call, "function")) {
      said.name = text_member(*function, "name");
      said.arguments = text_member(*function, "arguments");
    }
  }
  return base::ok();
}

// {"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}]}]}
void read_chat_logprobs(const json::array& tokens, SaidChoice& choice) {
  for (const json::value& value : tokens) {
    const json::object* token = value.if_object();
    if (token == nullptr) continue;
    SaidToken& said = choice.tokens.emplace_back();
    said.text = text_member(*token, "token");
    if (const json::value* logprob = member(*token, "logprob")) said.logprob = logprob_of(*logprob);
    const json::array* top = array_member(*token, "top_logprobs");
    if (top == nullptr) continue;
    for (const json::value& other : *top) {
      const json::object* entry = other.if_object();
      const json::value* logprob = entry == nullptr ? nullptr : member(*entry, "logprob");
      if (logprob != nullptr && said.top.size() < kMaxTop)
        said.top.emplace_back(text_member(*entry, "token"), logprob_of(*logprob));
    }
  }
}

// {"tokens": [...], "token_logprobs": [...], "top_logprobs": [{text: logprob}]}
void read_parallel_logprobs(const json::object& logprobs, SaidChoice& choice) {
  const json::array* tokens = array_member(logprobs, "tokens");
  const json::array* numbers = array_member(logprobs, "token_logprobs");
  const json::array* tops = array_member(logprobs, "top_logprobs");
  if (tokens == nullptr) return;
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    SaidToken& said = choice.tokens.emplace_back();
    if ((*tokens)[i].is_string()) said.text = (*tokens)[i].get_string();
    said.has_logprob = numbers != nullptr && i < numbers->size() && (*numbers)[i].is_number();
    if (said.has_logprob) said.logprob = logprob_of((*numbers)[i]);
    if (tops == nullptr || i >= tops->size() || !(*tops)[i].is_object()) continue;
    for (const auto& [text, logprob] : (*tops)[i].get_object())
      if (said.top.size() < kMaxTop) said.top.emplace_back(std::string(text), logprob_of(logprob));
  }
}

Status read_choice(const json::object& object, int num_choices, Chunk& chunk) {
  SaidChoice choice;
  choice.index = index_of(object, num_choices);
  if (choice.index < 0) return not_an_event("a choice that nobody asked for");
  choice.text = text_member(object, "text");
  const json::object* delta = object_member(object, "delta");
  if (delta == nullptr) delta = object_member(object, "message");
  if (delta != nullptr) {
    choice.text += text_member(*delta, "content");
    choice.reasoning = text_member(*delta, "reasoning_content");
    if (choice.reasoning.empty()) choice.reasoning = text_member(*delta, "reasoning");
    choice.text += text_member(*delta, "refusal");
    if (const json::array* calls = array_member(*delta, "tool_calls")) TRY_OK(read_calls(*calls, choice));
  }
  if (const json::object* logprobs = object_member(object, "logprobs")) {
    if (const json::array* tokens = array_member(*logprobs, "content"))
      read_chat_logprobs(*tokens, choice);
    else
      read_parallel_logprobs(*logprobs, choice);
  }
  choice.finish = text_member(object, "finish_reason");
  if (!choice.finish.empty()) choice.stop_string = text_member(object, "stop_reason");
  if (choice.says_something()) chunk.choices.push_back(std::move(choice));
  return base::ok();
}

SaidUsage usage_of(const json::object& object) {
  SaidUsage usage;
  usage.prompt_tokens = count_member(object, "prompt_tokens");
  usage.output_tokens = count_member(object, "completion_tokens");
  if (const json::object* details = object_member(object, "prompt_tokens_details"))
    usage.cached_tokens = std::min(count_member(*details, "cached_tokens"), usage.prompt_tokens);
  return usage;
}

}  // namespace

Result<Chunk> read_chunk(std::string_view data, int num_choices) {
  auto parsed = base::parse_json(data);
  if (!parsed.ok()) return not_an_event(parsed.error().message);
  const json::object* object = parsed->if_object();
  if (object == nullptr) return not_an_event("no object");
  if (const json::value* error = member(*object, "error")) return its_error(*error);
  if (text_member(*object, "object") == "error") return its_error(*parsed);  // vLLM's older form
  Chunk chunk;
  if (const json::array* choices = array_member(*object, "choices")) {
    for (const json::value& value : *choices) {
      const json::object* choice = value.if_object();
      if (choice == nullptr) return not_an_event("a choice that is no object");
      TRY_OK(read_choice(*choice, num_choices, chunk));
    }
  } else if (object_member(*object, "usage") == nullptr) {
    return not_an_event("no choices");
  }
  if (const json::object* usage = object_member(*object, "usage")) chunk.usage = usage_of(*usage);
  return chunk;
}

}  // namespace kvasir::upstream
