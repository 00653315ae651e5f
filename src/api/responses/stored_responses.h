#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/http/fields.h"
#include "store/store.h"

namespace kvasir::api {

// The items of a stored response and of all responses before it, oldest first: the input of each, then its
// output. Blocks. not_found: one of them is gone.
base::Result<json::array> items_up_to(store::Store& store, const store::Key& key);

// The id of an item in a response's output. The response can be found from it.
std::string item_id(std::string_view prefix, std::string_view response_id, std::size_t index);

// Whether some items are references to items of stored responses.
bool has_references(const json::array& items);
// Replaces references by the tenant's stored items. Blocks. not_found: one of them is gone.
base::Status resolve_references(store::Store& store, const std::string& tenant, json::array& items);

}  // namespace kvasir::api
