#include "api/items/item_page.h"

#include <utility>

#include "api/http/json/fields.h"
#include "api/http/json/page_query.h"

namespace kvasir::api {

using base::Result;
using base::Status;

bool has_id(const json::value& item, std::string_view id) {
  const json::value* own = item.is_object() ? item.get_object().if_contains("id") : nullptr;
  return own != nullptr && own->is_string() && own->get_string() == id;
}

Status ItemPage::take(json::value item) {
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
  if (resolve_) {
    TRY(item, resolve_(std::move(item)));
  }
  num_bytes_ += base::json_text(item).size();
  data_.push_back(std::move(item));
  return base::ok();
}

Result<json::object> ItemPage::finish() {
  if (!begun_) return in_field("after", wrong_value("it names no item of this list"));
  if (!query_.before.empty() && !ended_ && !has_more_)
    return in_field("before", wrong_value("it names no item of this list"));
  return list_object(std::move(data_), has_more_);
}

bool ItemPage::is_full() const {
  return data_.size() >= static_cast<std::size_t>(query_.limit) || num_bytes_ >= store::kMaxPageBytes;
}

}  // namespace kvasir::api
