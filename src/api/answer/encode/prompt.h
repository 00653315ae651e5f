#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "api/answer/job/job.h"
#include "api/answer/question/chat_request.h"
#include "api/answer/question/completion_request.h"
#include "router/model_text.h"

// Turns checked requests into tokens. The functions are pure and may take long, so they may run on any
// thread.
namespace kvasir::api {

struct EncodedChat {
  std::vector<TokenId> tokens;
  bool opens_reasoning = false;  // the prompt ends with <think>, so the answer begins inside the reasoning
};

// The chat's prompt, as the model's template writes it.
base::Result<text::Prompt> render_chat(const router::ChatText& model, const ChatRequest& request);

// A text with more bytes than the context could hold is refused before it is tokenized. Tokenizing ends
// early, with an error, once `stop` is requested.
base::Result<EncodedChat> encode_chat(const router::ChatText& model, const ChatRequest& request,
                                      const std::stop_token& stop);
// Refuses a text that is certainly too long, before the slow work of tokenizing it. `field` is the request's
// field that the error names.
base::Status check_could_fit(const router::ModelText& model, std::size_t num_bytes, std::string_view field);
base::Status check_not_stopped(const std::stop_token& stop);
// Refuses token ids outside the vocabulary.
base::Status check_tokens(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens);

// The tokens of a prompt. Refuses token ids outside the vocabulary. A text gets the model's beginning token
// if the model wants one.
base::Result<std::vector<TokenId>> encode_prompt(const router::ModelText& model, const TextOrTokens& prompt,
                                                 const std::stop_token& stop);

// As `encode_prompt`, for a model that reads a whole text. A text is put between the tokens that the model
// wants around it, and cut to `max_tokens` tokens with these if that is given. Tokens are taken as they are.
base::Result<std::vector<TokenId>> encode_text(const router::ModelText& model, const TextOrTokens& input,
                                               std::optional<int> max_tokens, const std::stop_token& stop);

// How to draw tokens: by the request's own values, or else by the advice of the model's makers.
wire::SamplingParams sampling_of(const GenerateParams& params, const wire::SamplingAdvice& advice);

// Whether the model's template has a variable for an effort, or can at least switch thinking off.
bool takes_effort(const router::ChatText& model);

// Whether `make_job` must compile a grammar, which takes a millisecond or more.
bool has_to_compile(const router::ChatText& model, const GenerateParams& params);

// Makes every sequence of the request, bounded by the context window. `prompt_field` is the field that the
// error names if a prompt is too long.
base::Result<Job> make_job(const router::ChatTextPtr& text, const GenerateParams& params,
                           const std::vector<std::vector<TokenId>>& prompts, std::string_view prompt_field);

}  // namespace kvasir::api
