#include "api/responses/input_items.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/page_query.h"
#include "api/http/store_task.h"
#include "api/responses/referenced_items.h"
#include "api/responses/stored_responses.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

bool has_id(const json::value& item, std::string_view id) {
  const json::value* own = item.is_object() ? item.get_object().if_contains("id") : nullptr;
  return own != nullptr && own->is_string() && own->get_string() == id;
}

// Collects a page from the items of the whole list, which are given to it one by one.
class ItemPage {
 public:
  ItemPage(ReferencedItems& referenced, const store::PageQuery& query)
      : referenced_(referenced), query_(query), begun_(query.after.empty()) {}

  // True once it is known what is on the page, and whether there is more.
  bool complete() const { return begun_ && (ended_ || has_more_); }

  // The next item of the list. A reference is looked up if it is on the page.
  Status take(json::value item) {
    if (!query_.before.empty() && has_id(item, query_.before)) ended_ = true;
    if (!begun_) {
      begun_ = has_id(item, query_.after);
      return base::ok();
    }
    if (ended_) return base::ok();
    if (is_full()) {
      has_more_ = true;
      return base::ok();
    }
    if (is_reference(item)) {
      TRY(item, referenced_.find(item.get_object()));
    }
    num_bytes_ += base::json_text(item).size();
    data_.push_back(std::move(item));
    return base::ok();
  }

  // Once it is complete, or the list is over.
  Result<json::object> finish() {
    if (!begun_) return in_field("after", wrong_value("it names no item of this response"));
    if (!query_.before.empty() && !ended_ && !has_more_)
      return in_field("before", wrong_value("it names no item of this response"));
    return list_object(std::move(data_), has_more_);
  }

 private:
  bool is_full() const {
    return data_.size() >= static_cast<std::size_t>(query_.limit) || num_bytes_ >= store::kMaxPageBytes;
  }

  ReferencedItems& referenced_;
  const store::PageQuery& query_;
  bool begun_;          // the cursor before the page was found
  bool ended_ = false;  // the cursor after the page was found
  bool has_more_ = false;
  json::array data_;
  std::size_t num_bytes_ = 0;  // of `data_`
};

}  // namespace

Result<json::object> input_item_page(store::Store& store, const store::Key& key,
                                     const store::PageQuery& query) {
  auto ids = store.answers().chain_ids(key, now_ms(), kMaxChain + 1);  // with the response itself
  if (!ids.ok()) return as_missing(std::move(ids).error(), key.id);
  const bool newest_first = query.order == store::Order::descending;
  if (newest_first) std::reverse(ids->begin(), ids->end());
  ReferencedItems referenced(store, key.tenant);
  ItemPage page(referenced, query);
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
