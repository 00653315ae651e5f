#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "store/page.h"

namespace kvasir::api {

namespace json = boost::json;

bool has_id(const json::value& item, std::string_view id);

// Collects one page of a list whose items are passed to `take` one by one.
class ItemPage {
 public:
  // Called for each item that is on the page, before the item is added to it.
  using Resolve = std::function<base::Result<json::value>(json::value item)>;

  explicit ItemPage(const store::PageQuery& query, Resolve resolve = {})
      : query_(query), resolve_(std::move(resolve)), begun_(query.after.empty()) {}

  // True once the page's items are known, and whether more follow.
  bool complete() const { return begun_ && (ended_ || has_more_); }
  // Takes the next item of the list.
  base::Status take(json::value item);
  // Returns the page. Call it once the page is complete or the list has ended.
  base::Result<json::object> finish();

 private:
  bool is_full() const;

  const store::PageQuery& query_;
  const Resolve resolve_;
  bool begun_;          // the cursor before the page was found
  bool ended_ = false;  // the cursor after the page was found
  bool has_more_ = false;
  json::array data_;
  std::size_t num_bytes_ = 0;  // of `data_`
};

}  // namespace kvasir::api
