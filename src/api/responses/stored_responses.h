#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "api/http/json/fields.h"
#include "store/store.h"

namespace kvasir::api {

inline constexpr int kMaxChain = 1000;  // in one chain, in which each continues the one before it

// Finds a stored response. Blocks.
base::Result<store::StoredAnswer> find_response(store::Store& store, const store::Key& key);
// Converts the store's error to the form that clients of this API expect.
base::Error as_missing(base::Error error, const std::string& id);
// Parses a list of items that the store holds as JSON: the whole text, or a member of its object.
base::Result<json::array> list_of(const std::string& text, std::string_view member);

// Returns the items of a stored response and of all responses before it, oldest first: the input of each,
// then its output. Blocks. `count` is called with the bytes of each response; its error ends the work.
// not_found: a response is gone.
using CountBytes = std::function<base::Status(std::size_t num_bytes)>;
base::Result<json::array> items_up_to(store::Store& store, const store::Key& key, const CountBytes& count);

// Makes the id of an item in a response's output. The response can be found from the id.
std::string item_id(std::string_view prefix, std::string_view response_id, std::size_t index);

}  // namespace kvasir::api
