#include "api/answer/encode/prompt.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/answer/question/structured_output.h"
#include "api/answer/question/tools.h"
#include "api/http/service/request_id.h"
#include "text/answer/tool_syntax.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

Status check_vocabulary(const router::ModelText& model, const GenerateParams& params) {
  const int size = model.tokenizer->size();
  const auto refuse = [&](const char* field, TokenId id) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("token id {} is outside the model's vocabulary of {}", id, size), field,
                 "invalid_value"};
  };
  for (const auto& [id, bias] : params.sampling.logit_bias)
    if (!model.tokenizer->valid(id)) return refuse("logit_bias", id);
  for (const TokenId id : params.stop_tokens)
    if (!model.tokenizer->valid(id)) return refuse("stop_token_ids", id);
  return base::ok();
}

Result<std::shared_ptr<grammar::CompiledGrammar>> compile_format(const router::ChatText& model,
                                                                 const GenerateParams& params) {
  if (!params.format) return std::shared_ptr<grammar::CompiledGrammar>();
  auto compiled = model.grammars->compile(params.format->source);
  if (!compiled.ok()) return format_error(*params.format, std::move(compiled).error());
  return compiled;
}

// The number of tokens that the answer may have. An error if the context has no room for any.
Result<int> room_for_answer(const router::ModelText& model, const GenerateParams& params,
                            std::size_t num_prompt_tokens, std::string_view prompt_field) {
  if (num_prompt_tokens == 0)
    return Error{ErrorCode::invalid_argument, "it has no tokens; expected some text",
                 std::string(prompt_field), "invalid_value"};
  const auto context = static_cast<std::size_t>(model.context_length);
  if (num_prompt_tokens >= context)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("this model's maximum context length is {} tokens, of which the answer needs at "
                             "least 1, but the prompt has {} tokens",
                             context, num_prompt_tokens),
                 std::string(prompt_field), "context_length_exceeded"};
  const int room = static_cast<int>(context - num_prompt_tokens);
  const int max_tokens = std::min(room, params.max_tokens.value_or(room));
  if (params.min_tokens > max_tokens)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} is more than the answer may have: {}", params.min_tokens, max_tokens),
                 "min_tokens", "invalid_value"};
  return max_tokens;
}

bool speaks_of_tools(const json::array& tools, const json::array& messages) {
  return !tools.empty() || std::ranges::any_of(messages, [](const json::value& message) {
    const json::value* role = message.get_object().if_contains("role");
    return (role != nullptr && *role == "tool") || message.get_object().contains("tool_calls");
  });
}

// Sets the template's variable for OpenAI's reasoning_effort. If a template can only switch thinking on and
// off, the efforts "none" and "minimal" switch it off. `chat_template_kwargs` take precedence.
json::object template_variables(const ChatRequest& request, std::string_view source) {
  json::object variables = request.template_kwargs;
  const std::string& effort = request.reasoning_effort;
  if (effort.empty()) return variables;
  const auto names = [&](std::string_view name) { return source.find(name) != std::string_view::npos; };
  const bool knows_effort = names("reasoning_effort");
  const bool knows_thinking = names("enable_thinking");
  if (knows_effort) variables.emplace("reasoning_effort", effort);
  if (knows_thinking) variables.emplace("enable_thinking", effort != "none" && effort != "minimal");
  return variables;
}

}  // namespace

Status check_could_fit(const router::ModelText& model, std::size_t num_bytes, std::string_view field) {
  const auto context = static_cast<std::size_t>(model.context_length);
  if (num_bytes / model.tokenizer->max_token_bytes() < context) return base::ok();
  return Error{ErrorCode::invalid_argument,
               fmt::format("this model's maximum context length is {} tokens, none of which has more than {} "
                           "bytes, but the prompt has {} bytes",
                           context, model.tokenizer->max_token_bytes(), num_bytes),
               std::string(field), "context_length_exceeded"};
}

Status check_not_stopped(const std::stop_token& stop) {
  if (!stop.stop_requested()) return base::ok();
  return Error{.code = ErrorCode::unavailable,
               .message = "the request was given up before its text was read",
               .reason = "server_draining",
               .retry_after_s = 5};
}

Status check_tokens(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  for (const TokenId id : tokens)
    if (!tokenizer.valid(id))
      return Error{ErrorCode::invalid_argument,
                   fmt::format("token id {} is outside the model's vocabulary of {}", id, tokenizer.size()),
                   "prompt", "invalid_value"};
  return base::ok();
}

Result<text::Prompt> render_chat(const router::ChatText& model, const ChatRequest& request) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  text::TemplateInputs inputs;
  inputs.messages = request.messages;
  const json::array tools = request.tools.may_call() ? request.tools.definitions : json::array();
  if (text::template_takes_tools(tokenizer.chat_template())) {
    if (!tools.empty()) inputs.tools = tools;
  } else if (speaks_of_tools(tools, inputs.messages)) {
    fit_messages({}, inputs.messages);  // `write_tools_as_text` appends to plain texts
    write_tools_as_text(tools, inputs.messages);
  }
  fit_messages(model.chat_template->message_shape(), inputs.messages);
  inputs.add_generation_prompt = request.add_generation_prompt;
  inputs.kwargs = template_variables(request, model.chat_template->source());
  if (tokenizer.bos()) inputs.bos_token = tokenizer.bytes(*tokenizer.bos());
  if (tokenizer.eos()) inputs.eos_token = tokenizer.bytes(*tokenizer.eos());
  auto prompt = model.chat_template->render(inputs);
  if (!prompt.ok()) return in_field(request.messages_field, std::move(prompt).error());
  prompt->append_input(request.prefill);
  return prompt;
}

Result<EncodedChat> encode_chat(const router::ChatText& model, const ChatRequest& request,
                                const std::stop_token& stop) {
  TRY(const text::Prompt prompt, render_chat(model, request));
  TRY_OK(check_could_fit(model, prompt.text.size(), request.messages_field));
  EncodedChat chat{.tokens = model.tokenizer->encode(prompt, stop)};
  TRY_OK(check_not_stopped(stop));
  const std::string_view text = prompt.text;
  chat.opens_reasoning = text.substr(0, text.find_last_not_of(" \n") + 1).ends_with("<think>");
  return chat;
}

Result<std::vector<TokenId>> encode_prompt(const router::ModelText& model, const TextOrTokens& prompt,
                                           const std::stop_token& stop) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  if (const auto* tokens = std::get_if<std::vector<TokenId>>(&prompt)) {
    TRY_OK(check_tokens(tokenizer, *tokens));
    return *tokens;
  }
  const std::string& text = std::get<std::string>(prompt);
  TRY_OK(check_could_fit(model, text.size(), "prompt"));
  std::vector<TokenId> tokens = tokenizer.encode(text, text::Specials::parse, stop);
  TRY_OK(check_not_stopped(stop));
  const auto bos = tokenizer.bos();
  if (bos && (tokenizer.add_bos() || tokens.empty()) && (tokens.empty() || tokens.front() != *bos))
    tokens.insert(tokens.begin(), *bos);
  return tokens;
}

Result<std::vector<TokenId>> encode_text(const router::ModelText& model, const TextOrTokens& input,
                                         std::optional<int> max_tokens, const std::stop_token& stop) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  std::vector<TokenId> tokens;
  if (const auto* given = std::get_if<std::vector<TokenId>>(&input)) {
    TRY_OK(check_tokens(tokenizer, *given));
    tokens = *given;
  } else {
    const std::string& words = std::get<std::string>(input);
    if (tokenizer.add_bos()) tokens.push_back(*tokenizer.bos());
    const std::vector<TokenId> own = tokenizer.encode(words, text::Specials::as_text, stop);
    TRY_OK(check_not_stopped(stop));
    tokens.insert(tokens.end(), own.begin(), own.end());
    const std::size_t num_after = tokenizer.add_eos() ? 1 : 0;
    if (max_tokens && tokens.size() + num_after > static_cast<std::size_t>(*max_tokens))
      tokens.resize(static_cast<std::size_t>(*max_tokens) - num_after);
    if (tokenizer.add_eos()) tokens.push_back(*tokenizer.eos());
  }
  if (tokens.size() <= static_cast<std::size_t>(model.context_length)) return tokens;
  return Error{ErrorCode::invalid_argument,
               fmt::format("this model's maximum context length is {} tokens, but the text has {}",
                           model.context_length, tokens.size()),
               {},
               "context_length_exceeded"};
}

wire::SamplingParams sampling_of(const GenerateParams& params, const wire::SamplingAdvice& advice) {
  wire::SamplingParams sampling = params.sampling;
  const wire::SamplingParams standard;
  // A temperature other than the standard one may have been set by this server's own code, which marks
  // nothing as given. Advice does not change it.
  if (!params.given.temperature && sampling.temperature == standard.temperature)
    sampling.temperature = advice.temperature.value_or(standard.temperature);
  if (!params.given.top_p) sampling.top_p = advice.top_p.value_or(standard.top_p);
  if (!params.given.top_k) sampling.top_k = advice.top_k.value_or(standard.top_k);
  if (!params.given.min_p) sampling.min_p = advice.min_p.value_or(standard.min_p);
  // A temperature of 0 always takes the likeliest token, so the advised penalty does not apply.
  if (!params.given.repetition_penalty && sampling.temperature > 0)
    sampling.repetition_penalty = advice.repetition_penalty.value_or(standard.repetition_penalty);
  return sampling;
}

bool takes_effort(const router::ChatText& model) {
  const std::string& source = model.chat_template->source();
  return source.find("reasoning_effort") != source.npos || source.find("enable_thinking") != source.npos;
}

bool has_to_compile(const router::ChatText& model, const GenerateParams& params) {
  using Preamble = grammar::GrammarSource::Preamble;
  if (!params.format) return false;
  const auto compiled = [&](Preamble preamble) {
    grammar::GrammarSource source = params.format->source;
    source.preamble = preamble;
    return model.grammars->is_compiled(source);
  };
  // Which of the two grammars is used depends on how the prompt ends, which is not known yet.
  const Preamble first = params.format->source.preamble;
  return !compiled(first) || (first != Preamble::none && !compiled(Preamble::open_reasoning));
}

Result<Job> make_job(const router::ChatTextPtr& text, const GenerateParams& params,
                     const std::vector<std::vector<TokenId>>& prompts, std::string_view prompt_field) {
  const router::ChatText& model = *text;
  TRY_OK(check_vocabulary(model, params));
  TRY(const std::shared_ptr<grammar::CompiledGrammar> grammar, compile_format(model, params));
  const wire::SamplingParams sampling = sampling_of(params, model.sampling);
  const std::uint64_t seed = params.seed ? *params.seed : draw_seed();
  ContextReport context{.window = model.context_length,
                        .max_tokens = model.context_length,
                        .requested_max_tokens = params.max_tokens};
  std::vector<wire::GenerateRequest> sequences;
  sequences.reserve(prompts.size() * static_cast<std::size_t>(params.num_sampled()));
  for (const std::vector<TokenId>& prompt : prompts) {
    TRY(const int max_tokens, room_for_answer(model, params, prompt.size(), prompt_field));
    context.prompt_tokens = std::max(context.prompt_tokens, static_cast<int>(prompt.size()));
    context.max_tokens = std::min(context.max_tokens, max_tokens);
    for (int i = 0; i < params.num_sampled(); ++i) {
      wire::GenerateRequest& sequence = sequences.emplace_back();
      sequence.prompt = prompt;
      sequence.sampling = sampling;
      sequence.sampling.seed = choice_seed(seed, i);
      sequence.max_tokens = max_tokens;
      sequence.min_tokens = params.min_tokens;
      sequence.ignore_eos = params.ignore_eos;
      sequence.stop_tokens = params.stop_tokens;
      sequence.grammar = grammar;
      sequence.num_prompt_logprobs = params.num_prompt_logprobs;
      if (params.best_of > params.n) sequence.sampling.logprobs = true;  // best_of needs logprobs to choose
    }
  }
  return Job{.text = text,
             .sequences = std::move(sequences),
             .num_sampled = params.num_sampled(),
             .num_kept = params.n,
             .with_logprobs = params.sampling.logprobs,
             .affinity = params.affinity,
             .is_private = params.is_private,
             .stops = {.patterns = std::make_shared<const text::StopPatterns>(params.stop),
                       .min_tokens = params.min_tokens},
             .context = context,
             .warnings = grammar ? format_warnings(*params.format, *grammar) : std::vector<std::string>()};
}

}  // namespace kvasir::api
