#include "api/answer/job/context_report.h"

#include <array>

namespace kvasir::api {

namespace {

constexpr std::array kPolicies = {ContextPolicy::error, ContextPolicy::sliding_window,
                                  ContextPolicy::summarize};

}  // namespace

std::string_view name_of(ContextPolicy policy) {
  switch (policy) {
    case ContextPolicy::error:
      return "error";
    case ContextPolicy::sliding_window:
      return "sliding_window";
    case ContextPolicy::summarize:
      return "summarize";
  }
  return "";
}

base::Result<ContextPolicy> read_context_policy(const json::value& value) {
  TRY(const std::string name, read_string(value));
  for (const ContextPolicy policy : kPolicies)
    if (name == name_of(policy)) return policy;
  return wrong_value(fmt::format("expected error, sliding_window or summarize, got \"{}\"", name));
}

json::object context_object(const ContextReport& report) {
  json::object object{{"policy", name_of(report.policy)},
                      {"window", report.window},
                      {"prompt_tokens", report.prompt_tokens},
                      {"max_tokens", report.max_tokens},
                      {"dropped_messages", report.dropped_messages},
                      {"dropped_turns", report.dropped_turns},
                      {"summarized_messages", report.summarized_messages},
                      {"summarized_turns", report.summarized_turns}};
  if (report.clipped()) object["requested_max_tokens"] = *report.requested_max_tokens;
  if (!report.summary.empty()) object["summary"] = report.summary;
  return object;
}

std::string context_header(const ContextReport& report) {
  std::string header =
      fmt::format("policy={}; window={}; prompt_tokens={}; max_tokens={}", name_of(report.policy),
                  report.window, report.prompt_tokens, report.max_tokens);
  if (report.clipped()) header += fmt::format("; requested_max_tokens={}", *report.requested_max_tokens);
  if (report.dropped_messages > 0) header += fmt::format("; dropped_messages={}", report.dropped_messages);
  if (report.summarized_messages > 0)
    header += fmt::format("; summarized_messages={}", report.summarized_messages);
  return header;
}

}  // namespace kvasir::api
