#include "api/answer/encode.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/answer/fit_context.h"
#include "api/answer/public_prefix.h"
#include "api/answer/tools.h"

namespace kvasir::api {

using base::Result;
using Preamble = grammar::GrammarSource::Preamble;
using Reasoning = text::AnswerSyntax::Reasoning;

namespace {

Result<GenerateParams> fit_chat_params(const router::ChatText& model, const ChatRequest& request) {
  const std::string& source = model.tokenizer->chat_template();
  GenerateParams params = request.params;
  if (const auto& stops = model.chat_template->stops(); !params.ignore_eos)
    params.stop.insert(params.stop.end(), stops.begin(), stops.end());
  TRY(params.format,
      format_with_tools(request.tools, std::move(params.format), text::tool_syntax_of(source)));
  if (params.format && text::template_has_reasoning(source))
    params.format->source.preamble = Preamble::reasoning;
  return params;
}

// Keeps only the last tokens of a prompt where the request asks for that.
void truncate_prompt(const router::ModelText& model, const GenerateParams& params,
                     std::vector<TokenId>& tokens) {
  if (!params.max_prompt_tokens) return;
  const int room = std::max(1, model.context_length - params.max_tokens.value_or(1));
  const auto kept =
      static_cast<std::size_t>(*params.max_prompt_tokens == -1 ? room : *params.max_prompt_tokens);
  if (tokens.size() > kept) tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(kept));
}

Result<Encoded> encode_whole_chat(const router::ChatTextPtr& model, const ChatRequest& request,
                                  GenerateParams params, const std::stop_token& stop) {
  TRY(FittedChat fitted, fit_chat(*model, request, stop));
  if (fitted.num_left_out > 0 && request.context_policy == ContextPolicy::summarize)
    return Encoded(TooManyTurns{fitted.num_left_out});
  const Reasoning reasoning = reasoning_of(*model, fitted.encoded);
  std::optional<OutputFormat>& format = params.format;
  if (format && reasoning == Reasoning::open) format->source.preamble = Preamble::open_reasoning;
  AnswerReading reading = answer_reading(request.tools, format, *model, reasoning);
  truncate_prompt(*model, params, fitted.encoded.tokens);
  const int num_public = num_public_tokens(*model, request, fitted.encoded.tokens, stop);
  TRY(Job job, make_job(model, params, {std::move(fitted.encoded.tokens)}, request.messages_field));
  for (wire::GenerateRequest& sequence : job.sequences) sequence.num_public_tokens = num_public;
  job.reading = std::move(reading);
  job.context.policy = request.context_policy;
  job.context.asked = request.chose_policy;
  const Turns turns = turns_of(request.messages);
  job.context.dropped_turns = static_cast<int>(fitted.num_left_out);
  job.context.dropped_messages = static_cast<int>(turns.start_of(fitted.num_left_out) - turns.begin());
  return Encoded(std::move(job));
}

// The echo of a prompt. If the prompt came as tokens, the echo is their text.
std::shared_ptr<const EchoedPrompt> make_echo(const text::Tokenizer& tokenizer,
                                              const CompletionRequest& request, std::size_t i,
                                              const std::vector<TokenId>& tokens) {
  auto echo = std::make_shared<EchoedPrompt>();
  const auto* text = std::get_if<std::string>(&request.prompts[i]);
  echo->text = text != nullptr ? *text : tokenizer.decode(tokens);
  echo->first_token = tokens.empty() ? 0 : tokens.front();
  echo->alone = request.prompt_alone;
  return echo;
}

Result<Encoded> encode_completion(const router::ChatTextPtr& model, const CompletionRequest& request,
                                  const GenerateParams& params, const std::stop_token& stop) {
  std::vector<std::vector<TokenId>> prompts;
  for (const TextOrTokens& prompt : request.prompts) {
    TRY(std::vector<TokenId> tokens, encode_prompt(*model, prompt, stop));
    truncate_prompt(*model, params, tokens);
    prompts.push_back(std::move(tokens));
  }
  TRY(Job job, make_job(model, params, prompts, "prompt"));
  if (request.echo)
    for (std::size_t i = 0; i < prompts.size(); ++i)
      job.echoes.push_back(make_echo(*model->tokenizer, request, i, prompts[i]));
  return Encoded(std::move(job));
}

}  // namespace

Result<GenerateParams> fit_params(const router::ChatText& model, const QuestionText& text) {
  if (const auto* chat = std::get_if<ChatRequest>(&text)) return fit_chat_params(model, *chat);
  return params_of(text);
}

Reasoning reasoning_of(const router::ChatText& model, const EncodedChat& chat) {
  if (!text::template_has_reasoning(model.tokenizer->chat_template())) return Reasoning::none;
  return chat.opens_reasoning ? Reasoning::open : Reasoning::tagged;
}

Result<Encoded> encode(const router::ChatTextPtr& model, const QuestionText& text,
                       const GenerateParams& params, const std::stop_token& stop) {
  if (const auto* chat = std::get_if<ChatRequest>(&text))
    return encode_whole_chat(model, *chat, params, stop);
  return encode_completion(model, std::get<CompletionRequest>(text), params, stop);
}

}  // namespace kvasir::api
