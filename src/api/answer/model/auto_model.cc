#include "api/answer/model/auto_model.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/encode/prompt.h"
#include "api/answer/model/difficulty.h"
#include "api/http/caller/caller.h"

namespace kvasir::api {

using base::Result;
using base::Status;
using router::ChatTextPtr;

namespace {

// Bounds on the text that is copied to judge a question: the newest messages, and the last parts of each.
constexpr std::size_t kMaxMessages = 16;
constexpr std::size_t kMaxParts = 8;
constexpr std::size_t kEarlierBytes = 4096;  // copied of each earlier message
constexpr std::size_t kBytesPerToken = 4;    // a rough mean

std::string_view as_view(const json::value& value) {
  const auto* text = value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

// The text of a message, or at least its two ends. Parts are copied to `joined`, and the result refers to it.
std::string_view text_of(const json::object& message, std::string& joined) {
  const json::value* content = message.if_contains("content");
  if (content == nullptr) return {};
  const json::array* parts = content->if_array();
  if (parts == nullptr) return as_view(*content);
  for (std::size_t i = parts->size() - std::min(parts->size(), kMaxParts); i < parts->size(); ++i) {
    const auto* part = (*parts)[i].if_object();
    const json::value* text = part == nullptr ? nullptr : part->if_contains("text");
    if (text != nullptr) joined += as_view(*text).substr(0, 2 * kReadBytes);
  }
  return joined;
}

std::string_view role_of(const json::value& message) {
  const json::value* role = message.get_object().if_contains("role");
  return role == nullptr ? std::string_view() : as_view(*role);
}

// Holds the texts that the traits of a question refer to.
struct Look {
  std::string joined = {};
  std::string earlier = {};
};

// The newest message of the user is the question; other messages count as earlier ones. System messages are
// ignored, since they are the same for easy and hard questions.
QuestionTraits traits_of(const ChatRequest& chat, Look& look) {
  QuestionTraits traits;
  bool found = false;
  const json::array& messages = chat.messages;
  const std::size_t last = messages.size() - std::min(messages.size(), kMaxMessages);
  for (std::size_t i = messages.size(); i-- > last;) {
    const std::string_view role = role_of(messages[i]);
    if (role == "user" && !std::exchange(found, true)) {
      traits.asked = text_of(messages[i].get_object(), look.joined);
    } else if (role != "system") {
      std::string joined;
      look.earlier += text_of(messages[i].get_object(), joined).substr(0, kEarlierBytes);
    }
  }
  traits.earlier = look.earlier;
  const json::value* thinking = chat.template_kwargs.if_contains("enable_thinking");
  traits.thinks = thinking != nullptr && *thinking == true;
  traits.effort = chat.reasoning_effort;
  traits.has_tools = chat.tools.may_call();
  traits.has_server_tools = !chat.tools.server_tools.empty();
  traits.has_format = chat.params.format.has_value();
  return traits;
}

// All prompts go to one model. The first `kMaxParts` prompts decide which.
QuestionTraits traits_of(const CompletionRequest& request, Look& look) {
  QuestionTraits traits;
  for (std::size_t i = 0; i < std::min(request.prompts.size(), kMaxParts); ++i) {
    if (const auto* text = std::get_if<std::string>(&request.prompts[i]))
      look.joined += text->substr(0, 2 * kReadBytes);
    else
      traits.num_token_bytes += kBytesPerToken * std::get<std::vector<TokenId>>(request.prompts[i]).size();
  }
  traits.asked = look.joined;
  traits.has_format = request.params.format.has_value();
  return traits;
}

// What a model must be able to do.
enum class Need : std::uint8_t { text, infill };

struct Wanted {
  Need need = Need::text;
  double difficulty = 0;
  std::size_t num_bytes = 0;
};

Need need_of(const ChatRequest&) {
  return Need::text;
}
Need need_of(const CompletionRequest& request) {
  return request.infill ? Need::infill : Need::text;
}

ChatTextPtr named(const std::vector<ChatTextPtr>& ready, const std::string& name) {
  const auto found = std::ranges::find(ready, name, [](const ChatTextPtr& text) { return text->name; });
  return found == ready.end() ? nullptr : *found;
}

// The ready models that can do what the request needs.
Result<std::vector<ChatTextPtr>> candidates(const Service& service, const router::Reach& reach, Need need) {
  TRY(std::vector<ChatTextPtr> ready, service.router.generating(kAutoModel, reach));
  if (need == Need::text) return ready;
  std::erase_if(ready, [](const ChatTextPtr& text) { return !text->tokenizer->fim(); });
  if (!ready.empty()) return ready;
  return base::Error{
      base::ErrorCode::unsupported,
      "none of the ready models can fill in the middle of a text; GET /v1/models says which can", "model",
      "model_not_supported"};
}

// Picks the ready model that answers. If the settings name a model that the caller cannot reach, the name is
// ignored.
Result<ChatTextPtr> pick(const Service& service, const tenancy::Caller& caller, const Wanted& wanted) {
  const router::Reach reach = reach_of(caller);
  TRY(const std::vector<ChatTextPtr> ready, candidates(service, reach, wanted.need));
  const auto size = [](const ChatTextPtr& text) { return text->num_parameters; };
  const std::string& small_name = service.options.auto_small;
  const std::string& large_name = service.options.auto_large;
  const ChatTextPtr small = service.router.has(small_name, reach)
                                ? named(ready, small_name)
                                : *std::ranges::min_element(ready, {}, size);
  const ChatTextPtr large = service.router.has(large_name, reach)
                                ? named(ready, large_name)
                                : *std::ranges::max_element(ready, {}, size);
  if (!small && !large) return service.router.chat_text(large_name, reach);  // the error says why
  if (!small || !large) return small ? small : large;
  const bool hard = wanted.difficulty >= kHard;
  const ChatTextPtr& chosen = hard ? large : small;
  const ChatTextPtr& other = hard ? small : large;
  const bool fits = wanted.num_bytes / kBytesPerToken < static_cast<std::size_t>(chosen->context_length);
  return fits || other->context_length <= chosen->context_length ? chosen : other;
}

bool asks_for_auto(const Service& service, const tenancy::Caller& caller, const GenerateParams& params) {
  return params.model == kAutoModel && !service.router.has(kAutoModel, reach_of(caller));
}

template <class Request>
Result<ChatTextPtr> choose(const Service& service, const tenancy::Caller& caller, const Request& request,
                           std::size_t num_bytes) {
  Look look;
  QuestionTraits traits = traits_of(request, look);
  traits.priority = caller.tier->priority;
  return pick(service, caller, {need_of(request), difficulty(traits), num_bytes});
}

}  // namespace

Status choose_model(const Service& service, const tenancy::Caller& caller, ChatRequest& chat,
                    std::size_t num_bytes) {
  if (!asks_for_auto(service, caller, chat.params)) return base::ok();
  TRY(const ChatTextPtr model, choose(service, caller, chat, num_bytes));
  chat.params.model = model->name;
  chat.params.allow_downgrade = true;
  if (!takes_effort(*model)) chat.reasoning_effort.clear();
  return base::ok();
}

Status choose_model(const Service& service, const tenancy::Caller& caller, QuestionText& text,
                    std::size_t num_bytes) {
  if (auto* chat = std::get_if<ChatRequest>(&text)) return choose_model(service, caller, *chat, num_bytes);
  auto& completion = std::get<CompletionRequest>(text);
  if (!asks_for_auto(service, caller, completion.params)) return base::ok();
  TRY(const ChatTextPtr model, choose(service, caller, completion, num_bytes));
  completion.params.model = model->name;
  completion.params.allow_downgrade = true;
  return base::ok();
}

}  // namespace kvasir::api
