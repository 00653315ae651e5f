#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "api/http/json/fields.h"
#include "store/store.h"

namespace kvasir::api {

inline constexpr int kMaxChain = 1000;  // responses that continue one another

// A stored response. Blocks.
base::Result<store::StoredAnswer> find_response(store::Store& store, const store::Key& key);
// The store's error as a client of this API sees it.
base::Error as_missing(base::Error error, const std::string& id);
// A list of items that the store holds as JSON: the whole text, or a member of its object.
base::Result<json::array> list_of(const std::string& text, std::string_view member);

// The items of a stored response and of all responses before it, oldest first: the input of each, then its
// output. Blocks. `count` is told what each of them takes; its error ends the work. not_found: one of them is
// gone.
using CountBytes = std::function<base::Status(std::size_t num_bytes)>;
base::Result<json::array> items_up_to(store::Store& store, const store::Key& key, const CountBytes& count);

// The id of an item in a response's output. The response can be found from it.
std::string item_id(std::string_view prefix, std::string_view response_id, std::size_t index);

}  // namespace kvasir::api
