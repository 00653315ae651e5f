#pragma once

#include <string>
#include <vector>

#include "api/http/fields.h"
#include "store/conversations.h"

// Conversations as clients see them.
namespace kvasir::api {

inline constexpr const char* kDefaultPolicy = "sliding_window";

json::object conversation_object(const store::Conversation& conversation);

// `siblings` empty: the message is its parent's only child.
json::object message_object(const store::Message& message, const std::string& conversation_id,
                            const std::vector<std::string>& siblings);

// What a model is given of a stored message.
json::object chat_message(const store::Message& message);

// The beginning of a text as a title: one line, cut at a word.
std::string title_of(std::string_view text);

}  // namespace kvasir::api
