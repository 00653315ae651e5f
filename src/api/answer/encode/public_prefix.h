#pragma once

#include <span>
#include <stop_token>

#include "api/answer/question/chat_request.h"
#include "base/ids.h"
#include "router/model_text.h"

namespace kvasir::api {

// How many of the first tokens of a chat's prompt are public. If the system message begins with a public
// prompt, these are the tokens that every chat of the model with that public prompt begins with; otherwise
// there are 0. May take long for the first chat with a public prompt.
int num_public_tokens(const router::ChatText& model, const ChatRequest& chat, std::span<const TokenId> prompt,
                      const std::stop_token& stop);

}  // namespace kvasir::api
