#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "store/conversations.h"

namespace kvasir::api {

// Converts items to messages that follow `parent_id`, and makes the title that they give the conversation.
base::Result<store::Append> items_to_append(const boost::json::array& items, const std::string& parent_id);

}  // namespace kvasir::api
