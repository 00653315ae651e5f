#include "api/answer/encode/encode.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/answer/encode/fit_context.h"
#include "api/answer/encode/infill.h"
#include "api/answer/encode/public_prefix.h"
#include "api/answer/question/tools.h"

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
  if (std::string warning = grammar_warning(request.tools, format); !warning.empty())
    job.warnings.push_back(std::move(warning));
  job.context.policy = request.context_policy;
  job.context.asked = request.chose_policy;
  const Turns turns = turns_of(request.messages);
  job.context.dropped_turns = static_cast<int>(fitted.num_left_out);
  job.context.dropped_messages = static_cast<int>(turns.start_of(fitted.num_left_out) - turns.begin());
  return Encoded(std::move(job));
}

// The echo of a prompt, without the text after a gap. If the prompt came as tokens, the echo is their text.
std::shared_ptr<const EchoedPrompt> make_echo(const text::Tokenizer& tokenizer,
                                              const CompletionRequest& request, const TextOrTokens& prompt,
                                              const std::vector<TokenId>& tokens) {
  auto echo = std::make_shared<EchoedPrompt>();
  if (!request.echo)
    echo->text.clear();  // the prompt is only read, not repeated
  else if (const auto* text = std::get_if<std::string>(&prompt))
    echo->text = *text;
  else
    echo->text = tokenizer.decode(std::get<std::vector<TokenId>>(prompt));
  echo->first_token = tokens.empty() ? 0 : tokens.front();
  echo->alone = request.prompt_alone;
  return echo;
}

// The special tokens around a gap end an answer, since none belongs in one.
Result<GenerateParams> fit_completion_params(const router::ChatText& model,
                                             const CompletionRequest& request) {
  GenerateParams params = request.params;
  if (!request.infill) return params;
  TRY_OK(check_can_infill(model, *request.infill));
  const std::vector<TokenId> ends = model.tokenizer->fim()->all();
  if (!params.ignore_eos) params.stop_tokens.insert(params.stop_tokens.end(), ends.begin(), ends.end());
  return params;
}

std::vector<std::string> infill_warnings(const CompletionRequest& request, std::size_t num_left_out) {
  if (num_left_out == 0) return {};
  return {fmt::format("input_extra: the oldest {} of {} were left out to fit the context", num_left_out,
                      request.infill->files.size())};
}

Result<Encoded> encode_completion(const router::ChatTextPtr& model, const CompletionRequest& request,
                                  const GenerateParams& params, const std::stop_token& stop) {
  std::vector<std::vector<TokenId>> prompts;
  std::vector<std::string> warnings;
  std::vector<std::shared_ptr<const EchoedPrompt>> echoes;
  const bool has_echo = request.echo || request.prompt_alone;
  for (const TextOrTokens& prompt : request.prompts) {
    if (request.infill) {
      TRY(EncodedInfill encoded, encode_infill(*model, prompt, request, stop));
      if (has_echo) echoes.push_back(make_echo(*model->tokenizer, request, prompt, encoded.tokens));
      prompts.push_back(std::move(encoded.tokens));
      for (std::string& warning : infill_warnings(request, encoded.num_left_out))
        if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
      continue;
    }
    TRY(std::vector<TokenId> tokens, encode_prompt(*model, prompt, stop));
    const std::size_t num_whole = tokens.size();
    truncate_prompt(*model, params, tokens);
    const bool is_cut = tokens.size() < num_whole;
    if (has_echo)
      echoes.push_back(make_echo(*model->tokenizer, request, is_cut ? TextOrTokens(tokens) : prompt, tokens));
    prompts.push_back(std::move(tokens));
  }
  TRY(Job job, make_job(model, params, prompts, request.prompt_field));
  job.warnings.insert(job.warnings.end(), warnings.begin(), warnings.end());
  job.echoes = std::move(echoes);
  return Encoded(std::move(job));
}

}  // namespace

Result<GenerateParams> fit_params(const router::ChatText& model, const QuestionText& text) {
  if (const auto* chat = std::get_if<ChatRequest>(&text)) return fit_chat_params(model, *chat);
  return fit_completion_params(model, std::get<CompletionRequest>(text));
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
