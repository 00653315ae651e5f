#include "fleet/worker_list.h"

#include <fstream>
#include <set>
#include <utility>

#include "config/toml_library.h"

namespace kvasir::fleet {

using base::ErrorCode;
using base::Result;

namespace {

base::Error wrong(const std::string& path, const toml::node& node, std::string_view what) {
  return base::error(ErrorCode::invalid_argument, "{}:{}: {}", path, node.source().begin.line, what);
}

Result<WorkerPlace> read_worker(const std::string& path, const toml::table& table) {
  WorkerPlace place;
  for (const auto& [key, value] : table) {
    std::string* into = key == "id" ? &place.id : key == "address" ? &place.address : nullptr;
    if (into == nullptr) return wrong(path, value, "a worker has an address and an id, nothing else");
    const auto* text = value.as_string();
    if (text == nullptr || text->get().empty())
      return wrong(path, value, "expected a text that is not empty");
    *into = text->get();
  }
  if (place.address.empty()) return wrong(path, table, "a worker without an address");
  if (place.id.empty()) place.id = place.address;
  return place;
}

}  // namespace

Result<std::vector<WorkerPlace>> read_worker_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) return base::error(ErrorCode::not_found, "{} cannot be read", path);
  const toml::parse_result parsed = toml::parse(file, path);
  if (!parsed)
    return base::error(ErrorCode::invalid_argument, "{}:{}: {}", path, parsed.error().source().begin.line,
                       parsed.error().description());
  const toml::table& table = parsed.table();
  const toml::array* list = table["worker"].as_array();
  if (list == nullptr || list->empty() || table.size() != 1)
    return base::error(ErrorCode::invalid_argument, "{}: expected [[worker]] tables and nothing else", path);
  std::vector<WorkerPlace> workers;
  std::set<std::string> ids;
  for (const toml::node& node : *list) {
    const toml::table* one = node.as_table();
    if (one == nullptr) return wrong(path, node, "expected a table");
    TRY(WorkerPlace place, read_worker(path, *one));
    if (!ids.insert(place.id).second) return wrong(path, node, "two workers have one id");
    workers.push_back(std::move(place));
  }
  return workers;
}

}  // namespace kvasir::fleet
