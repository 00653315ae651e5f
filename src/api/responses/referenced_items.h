#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "api/http/json/fields.h"
#include "store/store.h"

namespace kvasir::api {

bool is_reference(const json::value& item);

// Looks up referenced items of stored responses. Each response is read once. Short references can stand for
// long items, so the items' bytes are counted and bounded. Blocks. The store outlives this object.
class ReferencedItems {
 public:
  ReferencedItems(store::Store& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}

  // Returns the item. not_found: the item is gone.
  base::Result<json::value> find(const json::object& reference);

 private:
  struct Output {
    json::value item;
    std::size_t num_bytes = 0;
  };
  using Outputs = std::map<std::string, Output, std::less<>>;

  base::Result<const Outputs*> output_of(const std::string& item);
  base::Status load(const std::string& id, Outputs& outputs);
  base::Status count(std::size_t num_bytes);

  store::Store& store_;
  const std::string tenant_;
  std::map<std::string, Outputs, std::less<>> responses_;
  std::size_t num_bytes_ = 0;
};

// Whether some items are references to items of stored responses.
bool has_references(const json::array& items);
// Replaces references by the tenant's stored items. Blocks. not_found: an item is gone.
base::Status resolve_references(store::Store& store, const std::string& tenant, json::array& items);

}  // namespace kvasir::api
