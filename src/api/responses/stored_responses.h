#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/http/fields.h"
#include "store/store.h"

namespace kvasir::api {

// The items of a stored response and of all those that it went on from, oldest first: the input of each with
// its output after it. Blocks. not_found: one of them is gone.
base::Result<json::array> items_up_to(store::Store& store, const store::Key& key);

// The id of an item of a response's output. It tells where the item is found.
std::string item_id(std::string_view prefix, std::string_view response_id, std::size_t index);

// Whether some of the items are references to items of stored responses.
bool has_references(const json::array& items);
// Puts those of the tenant in the place of the references. Blocks. not_found: one of them is gone.
base::Status resolve_references(store::Store& store, const std::string& tenant, json::array& items);

}  // namespace kvasir::api
