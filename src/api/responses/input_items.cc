#include "api/responses/input_items.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/work/store_task.h"
#include "api/items/item_page.h"
#include "api/responses/referenced_items.h"
#include "api/responses/stored_responses.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

Result<json::object> input_item_page(store::Store& store, const store::Key& key,
                                     const store::PageQuery& query) {
  auto ids = store.answers().chain_ids(key, now_ms(), kMaxChain + 1);  // one more, for the response itself
  if (!ids.ok()) return as_missing(std::move(ids).error(), key.id);
  const bool newest_first = query.order == store::Order::descending;
  if (newest_first) std::reverse(ids->begin(), ids->end());
  ReferencedItems referenced(store, key.tenant);
  // A reference is looked up only if it is on the page.
  ItemPage page(query, [&referenced](json::value item) -> Result<json::value> {
    if (!is_reference(item)) return item;
    return referenced.find(item.get_object());
  });
  std::size_t num_bytes = 0;
  for (const std::string& id : *ids) {
    if (page.complete()) break;
    TRY(const store::StoredAnswer answer, find_response(store, {key.tenant, id}));
    if (id != key.id) num_bytes += answer.input.size() + answer.body.size();
    if (num_bytes > store::kMaxChainBytes)
      return Error{ErrorCode::too_large,
                   fmt::format("the page goes on after more than {} bytes", store::kMaxChainBytes), "",
                   "history_too_large"};
    TRY(json::array items, list_of(answer.input, ""));
    if (id != key.id) {
      TRY(json::array output, list_of(answer.body, "output"));
      for (json::value& item : output) items.push_back(std::move(item));
    }
    if (newest_first) std::reverse(items.begin(), items.end());
    for (json::value& item : items) {
      if (page.complete()) break;
      TRY_OK(page.take(std::move(item)));
    }
  }
  return page.finish();
}

}  // namespace kvasir::api
