#pragma once

#include <span>
#include <string_view>

#include "api/http/fields.h"

namespace kvasir::api {

// The JSON schema of an object, made of the tables that read it. A field that may be absent may be null.
class ObjectSchema {
 public:
  template <class Target>
  ObjectSchema& add(std::span<const Field<Target>> table) {
    for (const Field<Target>& field : table) add_field(field.name, field.schema, field.required_as);
    return *this;
  }
  json::object take();

 private:
  void add_field(std::string_view name, std::string_view schema, std::string_view required_as);

  json::object properties_;
  json::array required_;
};

// A literal of this program; one that is no JSON is a bug.
json::value schema_literal(std::string_view text);

// "a=1&b=x" as JSON: a value has the type that the schema gives it, as far as its text allows. What the
// schema does not know is left out.
base::Result<json::object> parse_query(std::string_view query, const json::object& schema);

// Reads a query by the table that documents it.
template <class Target>
base::Status read_query(std::string_view query, std::span<const Field<Target>> table, Target& target) {
  TRY(const json::object object, parse_query(query, ObjectSchema().add(table).take()));
  return read_fields<Target>(object, table, target);
}

}  // namespace kvasir::api
