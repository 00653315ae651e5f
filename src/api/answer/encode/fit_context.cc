#include "api/answer/encode/fit_context.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kvasir::api {

using base::Result;

namespace {

std::string_view role_of(const json::value& message) {
  return message.at("role").get_string();
}

// Tokens kept free for the answer: max_tokens or a quarter of the context, but at most half of it.
int room_kept(const router::ChatText& model, const ChatRequest& request) {
  const int context = model.context_length;
  return std::clamp(request.params.max_tokens.value_or(context / 4), 1, std::max(1, context / 2));
}

// Encodes the chat without its first `num_left_out` turns. Absent if it is still too long.
Result<std::optional<EncodedChat>> encode_from(const router::ChatText& model, const ChatRequest& request,
                                               std::size_t num_left_out, const std::stop_token& stop) {
  ChatRequest shorter = request;
  if (num_left_out > 0) shorter.messages = without_turns(request.messages, num_left_out, "");
  Result<EncodedChat> encoded = encode_chat(model, shorter, stop);
  if (!encoded.ok()) {
    if (encoded.error().reason == "context_length_exceeded") return std::optional<EncodedChat>();
    return std::move(encoded).error();
  }
  return std::optional<EncodedChat>(std::move(*encoded));
}

// The number of turns left out is a multiple of this stride, so that the prompts of successive requests begin
// alike and share KV blocks.
std::size_t stride_of(std::size_t num_turns) {
  return std::max<std::size_t>(1, num_turns / 8);
}

}  // namespace

Turns turns_of(const json::array& messages) {
  Turns turns;
  turns.num_messages = messages.size();
  std::size_t begin = 0;
  while (begin < messages.size() && role_of(messages[begin]) == "system") ++begin;
  for (std::size_t i = begin; i < messages.size(); ++i)
    if (i == begin || role_of(messages[i]) == "user") turns.starts.push_back(i);
  return turns;
}

int max_summary_tokens(int context_length) {
  return std::clamp(context_length / 8, 1, 512);
}

json::array without_turns(const json::array& messages, std::size_t num_turns, const std::string& summary) {
  const Turns turns = turns_of(messages);
  json::array kept(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(turns.begin()));
  if (!summary.empty()) {
    const std::string text = "Summary of the conversation so far:\n" + summary;
    // Some templates take only one system message, and only as the first message.
    if (kept.empty()) {
      kept.push_back(json::object{{"role", "system"}, {"content", text}});
    } else {
      json::object& last = kept.back().get_object();
      last["content"] = content_text(last) + "\n\n" + text;
    }
  }
  kept.insert(kept.end(), messages.begin() + static_cast<std::ptrdiff_t>(turns.start_of(num_turns)),
              messages.end());
  return kept;
}

Result<FittedChat> fit_chat(const router::ChatText& model, const ChatRequest& request,
                            const std::stop_token& stop) {
  const ContextPolicy policy = request.context_policy;
  const std::size_t num_turns = turns_of(request.messages).size();
  if (policy == ContextPolicy::error || num_turns < 2) {
    TRY(EncodedChat whole, encode_chat(model, request, stop));
    return FittedChat{std::move(whole)};
  }
  const auto fits = [&](const std::optional<EncodedChat>& chat, int kept_free) {
    return chat && static_cast<int>(chat->tokens.size()) + kept_free <= model.context_length;
  };
  const int room = room_kept(model, request);
  TRY(std::optional<EncodedChat> whole, encode_from(model, request, 0, stop));
  if (fits(whole, room)) return FittedChat{std::move(*whole)};

  const int summary = policy == ContextPolicy::summarize ? max_summary_tokens(model.context_length) + 16 : 0;
  std::size_t low = 1;  // the fewest turns that must be left out are in [low, high]
  std::size_t high = num_turns - 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    TRY(const std::optional<EncodedChat> chat, encode_from(model, request, middle, stop));
    if (fits(chat, room + summary))
      high = middle;
    else
      low = middle + 1;
  }
  const std::size_t stride = stride_of(num_turns);
  const std::size_t num_left_out = std::min((low + stride - 1) / stride * stride, num_turns - 1);
  ChatRequest shorter = request;
  shorter.messages = without_turns(request.messages, num_left_out, "");
  TRY(EncodedChat chat, encode_chat(model, shorter, stop));
  return FittedChat{std::move(chat), num_left_out};
}

}  // namespace kvasir::api
