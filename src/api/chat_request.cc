#include "api/chat_request.h"

#include <limits>
#include <utility>

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

constexpr int kMaxTopLogprobs = 20;

constexpr Field<ChatRequest> kFields[] = {
    {"max_completion_tokens",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, std::numeric_limits<int>::max()}));
       r.params.max_tokens = static_cast<int>(number);
       return base::ok();
     }},
    {"logprobs",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(r.params.sampling.logprobs, read_bool(v));
       return base::ok();
     }},
    {"top_logprobs",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {0, kMaxTopLogprobs}));
       if (!r.params.sampling.logprobs) return wrong_value("only allowed together with \"logprobs\": true");
       r.params.sampling.num_top_logprobs = static_cast<int>(number);
       return base::ok();
     }},
    {"chat_template_kwargs",
     [](const json::value& v, ChatRequest& r) -> Status {
       if (!v.is_object()) return wrong_type("an object", v);
       r.template_kwargs = v.get_object();
       return base::ok();
     }},
    {"add_special_tokens",
     [](const json::value& v, ChatRequest&) -> Status {
       TRY(const bool wanted, read_bool(v));
       return wanted ? Status(not_supported("adding tokens to the template's own is")) : base::ok();
     }},
    {"add_generation_prompt",
     [](const json::value& v, ChatRequest& r) -> Status {
       TRY(r.add_generation_prompt, read_bool(v));
       return base::ok();
     }},
};

}  // namespace

Result<ChatRequest> read_chat_request(json::object body) {
  ChatRequest request;
  TRY_OK(read_params(body, request.params));
  TRY_OK(read_fields<ChatRequest>(body, kFields, request));
  TRY(request.tools, read_tools(body));
  json::value* messages = body.if_contains("messages");
  if (messages == nullptr || messages->is_null())
    return in_field("messages", missing("an array of messages"));
  TRY(request.messages, read_messages(*messages));
  return request;
}

}  // namespace kvasir::api
