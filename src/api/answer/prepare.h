#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "api/answer/chat_request.h"
#include "api/answer/completion_request.h"
#include "api/answer/job.h"
#include "router/model_text.h"

// From checked requests to tokens. Pure and possibly long, so it may run on any thread.
namespace kvasir::api {

struct EncodedChat {
  std::vector<TokenId> tokens;
  bool opens_reasoning = false;  // the prompt ends with <think>: the answer begins inside
};

// Text of more bytes than the context could hold is refused before it is tokenized. Tokenizing ends early,
// with an error, once `stop` is requested.
base::Result<EncodedChat> encode_chat(const router::ChatText& model, const ChatRequest& request,
                                      const std::stop_token& stop);
// Token ids outside the vocabulary are refused; text gets the model's beginning token where it wants one.
base::Result<std::vector<TokenId>> encode_prompt(const router::ModelText& model, const TextOrTokens& prompt,
                                                 const std::stop_token& stop);

// The same for a model that reads the text as a whole: between the tokens that it wants around one, and not
// cut. Tokens are taken as they are.
base::Result<std::vector<TokenId>> encode_text(const router::ModelText& model, const TextOrTokens& input,
                                               const std::stop_token& stop);

// Whether `make_job` has a grammar to compile, which takes milliseconds and more.
bool has_to_compile(const router::ChatText& model, const GenerateParams& params);

// Every sequence of the request, bounded by the context window. `prompt_field` is the field that a prompt
// which is too long is blamed on.
base::Result<Job> make_job(const router::ChatTextPtr& text, const GenerateParams& params,
                           const std::vector<std::vector<TokenId>>& prompts, std::string_view prompt_field);

}  // namespace kvasir::api
