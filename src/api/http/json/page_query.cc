#include "api/http/json/page_query.h"

#include <array>
#include <string>

namespace kvasir::api {

using base::Status;

namespace {

constexpr Field<ListQuery> kPage[] = {
    {"limit",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, 100}));
       q.page.limit = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 100, "default": 20})"},
    {"after",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(q.page.after, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "The id after which the page begins."})"},
    {"before",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(q.page.before, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "The id before which the page ends."})"},
    {"order",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(const std::string name, read_string(v));
       if (name != "asc" && name != "desc")
         return wrong_value(fmt::format("expected asc or desc, got \"{}\"", name));
       q.page.order = name == "asc" ? store::Order::ascending : store::Order::descending;
       return base::ok();
     },
     R"({"enum": ["asc", "desc"], "description": "Of creation."})"},
};

constexpr Field<ListQuery> kPurpose[] = {
    {"purpose",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(q.purpose, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Files of this purpose only."})"},
};

constexpr Field<ListQuery> kBranch[] = {
    {"branch",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(q.branch, read_string(v));
       return base::ok();
     },
     R"({"type": "string",
         "description": "A message: the branch through it is read, instead of the active one."})"},
};

constexpr Field<ListQuery> kTenantFilter[] = {
    {"tenant",
     [](const json::value& v, ListQuery& q) -> Status {
       TRY(q.tenant, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Keys of this tenant only."})"},
};

}  // namespace

base::Result<ListQuery> read_list_query(std::string_view query, store::Order default_order) {
  ListQuery read;
  read.page.order = default_order;
  TRY_OK(read_query<ListQuery>(query, kPage, read));
  TRY_OK(read_query<ListQuery>(query, kPurpose, read));
  TRY_OK(read_query<ListQuery>(query, kBranch, read));
  TRY_OK(read_query<ListQuery>(query, kTenantFilter, read));
  return read;
}

json::object key_query_schema() {
  return ObjectSchema().add<ListQuery>(kPage).add<ListQuery>(kTenantFilter).take();
}

json::object list_query_schema() {
  return ObjectSchema().add<ListQuery>(kPage).take();
}

json::object file_query_schema() {
  return ObjectSchema().add<ListQuery>(kPage).add<ListQuery>(kPurpose).take();
}

json::object message_query_schema() {
  return ObjectSchema().add<ListQuery>(kPage).add<ListQuery>(kBranch).take();
}

json::object list_object(json::array items, bool has_more) {
  json::object list{{"object", "list"}, {"first_id", nullptr}, {"last_id", nullptr}, {"has_more", has_more}};
  if (!items.empty()) {
    list["first_id"] = items.front().at("id");
    list["last_id"] = items.back().at("id");
  }
  list["data"] = std::move(items);
  return list;
}

}  // namespace kvasir::api
