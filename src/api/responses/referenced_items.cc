#include "api/responses/referenced_items.h"

#include <algorithm>
#include <utility>

#include "api/responses/stored_responses.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// At most this many bytes of items replace references, and of responses are searched for referenced items.
constexpr std::size_t kMaxReferencedBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxShownId = 100;

// Removes the logprobs from an item, since a later response does not need them.
void drop_logprobs(json::value& item) {
  json::value* content = item.is_object() ? item.get_object().if_contains("content") : nullptr;
  if (content == nullptr || !content->is_array()) return;
  for (json::value& part : content->get_array())
    if (part.is_object()) part.get_object().erase("logprobs");
}

}  // namespace

bool is_reference(const json::value& item) {
  const json::value* type = item.is_object() ? item.get_object().if_contains("type") : nullptr;
  return type != nullptr && *type == "item_reference";
}

Result<json::value> ReferencedItems::find(const json::object& reference) {
  const json::value* id = reference.if_contains("id");
  if (id == nullptr || !id->is_string()) return in_field("input", missing("the \"id\" of an item"));
  const std::string text(id->get_string());
  TRY(const Outputs* output, output_of(text));
  const auto found = output->find(text);
  if (found == output->end())
    return Error{ErrorCode::not_found,
                 fmt::format("Item with id '{}' not found.", text.substr(0, kMaxShownId)), "input",
                 "item_not_found"};
  TRY_OK(count(found->second.num_bytes));
  return found->second.item;
}

// Returns the output that has the item: "msg_X_2" is in the output of "resp_X".
Result<const ReferencedItems::Outputs*> ReferencedItems::output_of(const std::string& item) {
  const std::size_t begin = item.find('_') + 1;
  const std::size_t end = item.rfind('_');
  const std::string id = begin == 0 || end <= begin ? "" : "resp_" + item.substr(begin, end - begin);
  const auto [known, is_new] = responses_.try_emplace(id);
  if (is_new && !id.empty()) TRY_OK(load(id, known->second));
  return &known->second;
}

Status ReferencedItems::load(const std::string& id, Outputs& outputs) {
  auto response = find_response(store_, {tenant_, id});
  if (!response.ok() && response.error().code == ErrorCode::not_found) return base::ok();
  if (!response.ok()) return std::move(response).error();
  TRY_OK(count(response->body.size()));
  TRY(json::array items, list_of(response->body, "output"));
  for (json::value& item : items) {
    drop_logprobs(item);
    const json::value* own = item.is_object() ? item.get_object().if_contains("id") : nullptr;
    if (own == nullptr || !own->is_string()) continue;
    const std::string name(own->get_string());
    const std::size_t num_bytes = base::json_text(item).size();
    outputs[name] = {std::move(item), num_bytes};
  }
  return base::ok();
}

Status ReferencedItems::count(std::size_t num_bytes) {
  num_bytes_ += num_bytes;
  if (num_bytes_ <= kMaxReferencedBytes) return base::ok();
  return Error{ErrorCode::too_large,
               fmt::format("the referenced items have more than {} bytes", kMaxReferencedBytes), "input",
               "history_too_large"};
}

bool has_references(const json::array& items) {
  return std::ranges::any_of(items, is_reference);
}

Status resolve_references(store::Store& store, const std::string& tenant, json::array& items) {
  ReferencedItems referenced(store, tenant);
  for (json::value& item : items) {
    if (!is_reference(item)) continue;
    TRY(item, referenced.find(item.get_object()));
  }
  return base::ok();
}

}  // namespace kvasir::api
