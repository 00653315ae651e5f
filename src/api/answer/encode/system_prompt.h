#pragma once

#include <cstddef>

#include "api/answer/question/question.h"
#include "tenancy/caller.h"

namespace kvasir::api {

// Puts the tenant's system prompt, where it has one, before that of a chat: in one message, since templates
// take one. Answers with the bytes that were added.
std::size_t add_system_prompt(const tenancy::Caller& caller, QuestionText& text);
std::size_t add_system_prompt(const tenancy::Caller& caller, ChatRequest& chat);

}  // namespace kvasir::api
