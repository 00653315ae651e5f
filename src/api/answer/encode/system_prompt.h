#pragma once

#include <cstddef>

#include "api/answer/question/question.h"
#include "tenancy/caller.h"

namespace kvasir::api {

// Puts the tenant's system prompt, if it has one, before the chat's own, in one message, since templates take
// only one. Returns how many bytes were added.
std::size_t add_system_prompt(const tenancy::Caller& caller, QuestionText& text);
std::size_t add_system_prompt(const tenancy::Caller& caller, ChatRequest& chat);

}  // namespace kvasir::api
