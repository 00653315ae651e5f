#pragma once

#include <string>
#include <vector>

#include "api/http/json/fields.h"
#include "store/conversations.h"

// The JSON of conversations that clients see.
namespace kvasir::api {

inline constexpr const char* kDefaultPolicy = "sliding_window";

json::object conversation_object(const store::Conversation& conversation);

// Empty `siblings` means that the message is its parent's only child.
json::object message_object(const store::Message& message, const std::string& conversation_id,
                            const std::vector<std::string>& siblings);

}  // namespace kvasir::api
