#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "store/conversations.h"

namespace kvasir::api {

// The messages that items become after `parent_id`, with the title that they give.
base::Result<store::Append> items_to_append(const boost::json::array& items, const std::string& parent_id);

}  // namespace kvasir::api
