#pragma once

#include <string>

#include "api/fields.h"
#include "store/store.h"

namespace kvasir::api {

// The items of a stored response and of all those that it went on from, oldest first: the input of each with
// its output behind it. Blocks. not_found: one of them is gone.
base::Result<json::array> items_up_to(store::Store& store, const std::string& id);

}  // namespace kvasir::api
