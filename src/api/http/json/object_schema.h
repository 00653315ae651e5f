#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/json/fields.h"

namespace kvasir::api {

// Builds an object's JSON schema from the tables that read it. Optional fields may be null.
class ObjectSchema {
 public:
  template <class Target>
  ObjectSchema& add(std::span<const Field<Target>> table) {
    for (const Field<Target>& field : table) add_field(field.name, field.schema, field.required_as);
    return *this;
  }
  json::object take();
  // Adds a warning for each of the object's fields that no table has. Undocumented fields of the tables are
  // known too, and null is ignored. `place` is put before each name: "text." for an object inside the
  // request.
  void warn_of_others(const json::object& object, std::vector<std::string>& warnings,
                      std::string_view place = {}) const;

 private:
  void add_field(std::string_view name, std::string_view schema, std::string_view required_as);

  std::set<std::string, std::less<>> names_;
  json::object properties_;
  json::array required_;
};

// As above, for an object inside the request that is read by one table.
template <class Target>
void warn_of_others(const json::object& object, std::span<const Field<Target>> table, std::string_view place,
                    std::vector<std::string>& warnings) {
  ObjectSchema().add(table).warn_of_others(object, warnings, place);
}

// Warns that `other` is ignored if the object also has `used`, a second name of that field, with another
// value.
void warn_of_other_name(const json::object& object, std::string_view used, std::string_view other,
                        std::vector<std::string>& warnings);

// Parses a schema literal of this program. Invalid JSON is a bug.
json::value schema_literal(std::string_view text);

// Parses "a=1&b=x" as JSON. A value gets the type that the schema asks for, if its text allows that. Fields
// that the schema lacks are dropped.
base::Result<json::object> parse_query(std::string_view query, const json::object& schema);

// Reads a query with the table that documents it.
template <class Target>
base::Status read_query(std::string_view query, std::span<const Field<Target>> table, Target& target) {
  TRY(const json::object object, parse_query(query, ObjectSchema().add(table).take()));
  return read_fields<Target>(object, table, target);
}

}  // namespace kvasir::api
