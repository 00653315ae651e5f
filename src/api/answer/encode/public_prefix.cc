#include "api/answer/encode/public_prefix.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/encode/prompt.h"

namespace kvasir::api {

namespace {

using Tokens = router::PublicPrompts::Tokens;

// User messages that differ from their first byte on. A token that both prompts have at the same place has no
// byte of the message, however the tokenizer joins bytes.
constexpr const char* kOneMessage = "a";
constexpr const char* kOtherMessage = "0";

std::size_t num_common(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::string system_text(const ChatRequest& chat) {
  const json::object* first = chat.messages.empty() ? nullptr : chat.messages.front().if_object();
  const json::value* role = first == nullptr ? nullptr : first->if_contains("role");
  return role != nullptr && *role == "system" ? content_text(*first) : std::string();
}

// The user message is needed: some templates refuse a chat without one, or write the system message into it.
base::Result<text::Prompt> render_with(const router::ChatText& model, const std::string& system,
                                       const char* message) {
  ChatRequest chat;
  chat.messages = {json::object{{"role", "system"}, {"content", system}},
                   json::object{{"role", "user"}, {"content", message}}};
  return render_chat(model, chat);
}

// The tokens that begin every chat with this system message. Null if the template does not take it or `stop`
// was requested.
Tokens tokens_of(const router::ChatText& model, const std::string& system, const std::stop_token& stop) {
  const base::Result<text::Prompt> one = render_with(model, system, kOneMessage);
  if (!one.ok()) return nullptr;
  if (Tokens kept = model.public_prompts->tokens_of(system, one->text)) return kept;
  const base::Result<text::Prompt> other = render_with(model, system, kOtherMessage);
  if (!other.ok()) return nullptr;
  std::vector<TokenId> tokens = model.tokenizer->encode(*one, stop);
  tokens.resize(num_common(tokens, model.tokenizer->encode(*other, stop)));
  if (stop.stop_requested()) return nullptr;
  auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
  model.public_prompts->keep(system, one->text, shared);
  return shared;
}

}  // namespace

int num_public_tokens(const router::ChatText& model, const ChatRequest& chat, std::span<const TokenId> prompt,
                      const std::stop_token& stop) {
  if (!model.public_prompts) return 0;
  const std::string* text = model.public_prompts->find(system_text(chat));
  if (text == nullptr) return 0;
  const Tokens tokens = tokens_of(model, *text, stop);
  return tokens ? static_cast<int>(num_common(*tokens, prompt)) : 0;
}

}  // namespace kvasir::api
