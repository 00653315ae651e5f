#pragma once

#include <string>
#include <vector>

#include "api/http/fields.h"
#include "store/conversations.h"

// The JSON of conversations that clients see.
namespace kvasir::api {

inline constexpr const char* kDefaultPolicy = "sliding_window";

json::object conversation_object(const store::Conversation& conversation);

// Empty `siblings`: the message is its parent's only child.
json::object message_object(const store::Message& message, const std::string& conversation_id,
                            const std::vector<std::string>& siblings);

// A stored message in the form that a model's chat has.
json::object chat_message(const store::Message& message);

// Makes a title of a text's beginning: one line, cut at a word.
std::string title_of(std::string_view text);

}  // namespace kvasir::api
