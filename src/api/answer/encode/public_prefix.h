#pragma once

#include <span>
#include <stop_token>

#include "api/answer/question/chat_request.h"
#include "base/ids.h"
#include "router/model_text.h"

namespace kvasir::api {

// How many of the first tokens of a chat's prompt are public: those in common with every chat of the model
// whose system message is the public prompt that this one's begins with. 0: it begins with none. May take
// long for the first chat with a public prompt.
int num_public_tokens(const router::ChatText& model, const ChatRequest& chat, std::span<const TokenId> prompt,
                      const std::stop_token& stop);

}  // namespace kvasir::api
