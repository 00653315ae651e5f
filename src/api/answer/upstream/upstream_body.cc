#include "api/answer/upstream/upstream_body.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

#include "text/chat_template.h"
#include "upstream/choose_member.h"

namespace kvasir::api {

using base::Result;
using base::Status;
using Kind = grammar::GrammarSource::Kind;

namespace {

// Nearly all texts have more bytes per token, so a reservation is too large rather than too small.
constexpr std::size_t kBytesPerToken = 3;
// How many bytes of each first message are hashed. Only the beginning of a longer message counts.
constexpr std::size_t kMaxAffinityBytes = 4096;

double tidy(float number) {
  return std::round(double{number} * 1e6) / 1e6;  // 0.7, not 0.699999988
}

int tokens_of_bytes(std::size_t num_bytes) {
  return static_cast<int>(std::min<std::size_t>(num_bytes / kBytesPerToken + 1, 1 << 30));
}

Status check_upstream_params(const GenerateParams& params) {
  if (params.num_prompt_logprobs)
    return in_field("prompt_logprobs", not_supported("this field for a model of an upstream is"));
  return base::ok();
}

void write_sampling(const GenerateParams& params, json::object& body) {
  const wire::SamplingParams& sampling = params.sampling;
  if (params.given.temperature) body["temperature"] = tidy(sampling.temperature);
  if (params.given.top_p) body["top_p"] = tidy(sampling.top_p);
  if (params.given.top_k) body["top_k"] = sampling.top_k > 0 ? sampling.top_k : -1;
  if (params.given.min_p) body["min_p"] = tidy(sampling.min_p);
  if (params.given.repetition_penalty) body["repetition_penalty"] = tidy(sampling.repetition_penalty);
  if (sampling.presence_penalty != 0) body["presence_penalty"] = tidy(sampling.presence_penalty);
  if (sampling.frequency_penalty != 0) body["frequency_penalty"] = tidy(sampling.frequency_penalty);
  if (params.seed) body["seed"] = static_cast<std::int64_t>(*params.seed);
  if (sampling.logit_bias.empty()) return;
  json::object bias;
  for (const auto& [token, value] : sampling.logit_bias) bias[std::to_string(token)] = tidy(value);
  body["logit_bias"] = std::move(bias);
}

void write_format(const OutputFormat& format, UpstreamBody& out, json::object& body) {
  const auto as_vllm = [&](std::string_view name, json::value value) {
    body["structured_outputs"] = json::object{{name, std::move(value)}};
    out.warnings.push_back(
        fmt::format("{}: passed on as structured_outputs, which not every upstream knows", format.field));
  };
  const std::string& text = format.source.text;
  const auto parsed = base::parse_json(text);
  if (format.source.kind == Kind::json_object) body["response_format"] = {{"type", "json_object"}};
  if (format.source.kind == Kind::json_schema) {
    json::object named{{"name", "answer"}, {"strict", true}};
    named["schema"] = parsed.ok() ? *parsed : json::value(text);
    body["response_format"] = json::object{{"type", "json_schema"}, {"json_schema", std::move(named)}};
  }
  if (format.source.kind == Kind::regex) as_vllm("regex", json::value(text));
  if (format.source.kind == Kind::ebnf) as_vllm("grammar", json::value(text));
  if (format.source.kind == Kind::choice && parsed.ok()) as_vllm("choice", *parsed);
}

void write_params(const GenerateParams& params, UpstreamBody& out, json::object& body) {
  body["stream"] = true;
  body["stream_options"] = json::object{{"include_usage", true}};
  write_sampling(params, body);
  if (params.n > 1) body["n"] = params.n;
  if (params.best_of > params.n) body["best_of"] = params.best_of;
  if (!params.stop.empty()) body["stop"] = json::value_from(params.stop);
  if (!params.stop_tokens.empty()) body["stop_token_ids"] = json::value_from(params.stop_tokens);
  if (params.min_tokens > 0) body["min_tokens"] = params.min_tokens;
  if (params.ignore_eos) body["ignore_eos"] = true;
  if (params.max_prompt_tokens) body["truncate_prompt_tokens"] = *params.max_prompt_tokens;
  if (!params.user.empty()) body["user"] = params.user;
  if (params.format) write_format(*params.format, out, body);
}

void write_tools(const ToolSettings& tools, json::object& body) {
  if (tools.definitions.empty()) return;
  body["tools"] = tools.definitions;
  if (!tools.parallel) body["parallel_tool_calls"] = false;
  if (tools.choice == ToolSettings::Choice::none) body["tool_choice"] = "none";
  if (tools.choice != ToolSettings::Choice::required) return;
  if (tools.named.empty())
    body["tool_choice"] = "required";
  else
    body["tool_choice"] = json::object{{"type", "function"}, {"function", {{"name", tools.named}}}};
}

// The hash of the system messages and of the first other message. It remains the same as the conversation
// grows.
std::uint64_t affinity_of(const json::array& messages) {
  std::string beginning;
  for (const json::value& value : messages) {
    const json::object& message = value.get_object();
    beginning += content_text(message).substr(0, kMaxAffinityBytes) + '\0';
    if (message.at("role") != "system") break;
  }
  return upstream::hash_of(std::string_view(beginning).substr(0, 4 * kMaxAffinityBytes));
}

void finish(json::object body, UpstreamBody& out) {
  const std::string text = base::json_text(body);
  out.fields = text.substr(1, text.size() - 2);
}

Result<UpstreamBody> write_chat(const ChatRequest& request) {
  TRY_OK(check_upstream_params(request.params));
  if (!request.tools.server_tools.empty())
    return in_field("server_tools", not_supported("calling them for a model of an upstream is"));
  UpstreamBody out;
  out.path = "/chat/completions";
  json::array messages = request.messages;
  fit_messages({.content = text::ContentShape::text, .arguments_as_text = true}, messages);
  out.affinity = request.params.affinity != 0 ? request.params.affinity : affinity_of(messages);
  if (!request.prefill.empty())
    messages.push_back(json::object{{"role", "assistant"}, {"content", request.prefill}});
  json::object body;
  body["messages"] = std::move(messages);
  write_tools(request.tools, body);
  out.prompt_tokens = tokens_of_bytes(base::json_text(body).size());
  write_params(request.params, out, body);
  if (request.params.sampling.logprobs) {
    body["logprobs"] = true;
    body["top_logprobs"] = request.params.sampling.num_top_logprobs;
  }
  if (!request.reasoning_effort.empty()) body["reasoning_effort"] = request.reasoning_effort;
  if (!request.template_kwargs.empty()) body["chat_template_kwargs"] = request.template_kwargs;
  if (!request.add_generation_prompt) body["add_generation_prompt"] = false;
  if (request.chose_policy && request.context_policy != ContextPolicy::error)
    out.warnings.emplace_back("context_policy: ignored, an upstream fits messages into its context itself");
  finish(std::move(body), out);
  return out;
}

Result<UpstreamBody> write_completion(const CompletionRequest& request) {
  TRY_OK(check_upstream_params(request.params));
  if (request.prompt_alone)
    return in_field("max_tokens", not_supported("an echo alone from a model of an upstream is"));
  UpstreamBody out;
  out.path = "/completions";
  json::object body;
  json::array prompts;
  std::string beginning;
  for (const TextOrTokens& prompt : request.prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      prompts.emplace_back(*text);
      out.prompt_tokens += tokens_of_bytes(text->size());
      if (beginning.empty()) beginning = text->substr(0, kMaxAffinityBytes);
    } else {
      prompts.push_back(json::value_from(std::get<std::vector<TokenId>>(prompt)));
      out.prompt_tokens += static_cast<int>(std::get<std::vector<TokenId>>(prompt).size());
    }
  }
  out.affinity = request.params.affinity != 0 ? request.params.affinity : upstream::hash_of(beginning);
  out.num_prompts = static_cast<int>(prompts.size());
  body["prompt"] = prompts.size() == 1 ? json::value(std::move(prompts[0])) : json::value(std::move(prompts));
  if (const auto& infill = request.infill) {
    if (infill->suffix_field != "suffix" || !infill->files.empty() || !infill->begun.empty())
      return in_field(infill->suffix_field, not_supported("filling a gap so by a model of an upstream is"));
    body["suffix"] = infill->suffix;
    out.prompt_tokens += tokens_of_bytes(infill->suffix.size());
  }
  write_params(request.params, out, body);
  if (request.echo) body["echo"] = true;
  if (request.params.sampling.logprobs) body["logprobs"] = request.params.sampling.num_top_logprobs;
  finish(std::move(body), out);
  return out;
}

}  // namespace

Result<UpstreamBody> write_upstream_body(const QuestionText& text) {
  if (const auto* chat = std::get_if<ChatRequest>(&text)) return write_chat(*chat);
  return write_completion(std::get<CompletionRequest>(text));
}

}  // namespace kvasir::api
