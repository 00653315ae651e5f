#include "fleet/member_text.h"

#include "base/json.h"

namespace kvasir::fleet {

std::string write_member(const WorkerPlace& place) {
  return base::json_text(base::json::object{{"id", place.id}, {"address", place.address}});
}

base::Result<WorkerPlace> read_member(std::string_view text) {
  TRY(const base::json::value value, base::parse_json(text));
  const auto text_of = [&value](std::string_view key) -> std::string {
    const base::json::object* object = value.if_object();
    const base::json::value* found = object != nullptr ? object->if_contains(key) : nullptr;
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
  };
  WorkerPlace place{.id = text_of("id"), .address = text_of("address")};
  if (place.id.empty() || place.address.empty())
    return base::error(base::ErrorCode::corrupt, "a member without an id or an address");
  return place;
}

}  // namespace kvasir::fleet
