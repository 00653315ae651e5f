#pragma once

#include "api/http/json/fields.h"
#include "store/store.h"

namespace kvasir::api {

// Returns a page of the items that a stored response was made from: the items of all earlier responses in the
// chain, then its own input. Loads one response at a time, and none beyond the page. Blocks. too_large: the
// responses before the end of the page have more than store::kMaxChainBytes.
base::Result<json::object> input_item_page(store::Store& store, const store::Key& key,
                                           const store::PageQuery& query);

}  // namespace kvasir::api
