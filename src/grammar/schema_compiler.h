#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema.h"
#include "grammar/schema_document.h"
#include "grammar/schema_spec.h"

namespace kvasir::grammar {

// Turns one schema document into rules. Used once. A conjunction of schemas is one rule wherever it appears,
// so recursive schemas become recursive rules. Rules are filled in from a work list rather than by recursion.
class SchemaCompiler {
 public:
  SchemaCompiler(Grammar& grammar, const base::json::value& schema, JsonSchemaOptions options);

  // The rule of the root.
  base::Result<RuleId> compile();
  // The rule of the root as the arguments of a function: an object that has declared properties only. The
  // same holds for the objects in it that declare any. additionalProperties opens an object.
  base::Result<RuleId> compile_arguments();
  // Any object.
  RuleId any_object();

  // Notes on what the schema asks for and the rules do not enforce.
  const std::vector<Note>& notes() const { return notes_.list(); }

 private:
  struct Work {
    RuleId rule;
    Alternative alternative;
  };
  struct Members;

  base::Result<RuleId> compile(const Conjunction& root);
  void close_object(const Alternative& alternative, SchemaSpec& spec) const;
  base::Result<NodeId> value(const Conjunction& schema);
  base::Result<RuleId> rule_of(const Conjunction& schema);
  RuleId rule_of(const Alternative& alternative);
  base::Result<NodeId> emit(const Alternative& alternative);
  // The values of enum and const that meet the other keywords.
  base::Result<std::vector<base::json::value>> allowed_values(const SchemaSpec& spec) const;
  NodeId emit_value(const base::json::value& value);

  base::Result<NodeId> emit_number(const SchemaSpec& spec);
  base::Result<NodeId> emit_string(const SchemaSpec& spec);
  // The strings that match a pattern, in quotes.
  NodeId emit_pattern(const Regex& regex);
  base::Result<NodeId> emit_array(const SchemaSpec& spec);
  base::Result<std::optional<NodeId>> emit_items(const SchemaSpec& spec);
  // The values that an item may have, if the schema lists them.
  base::Result<std::optional<std::vector<base::json::value>>> item_values(const SchemaSpec& spec) const;
  // An array without repeated values.
  NodeId emit_different(const SchemaSpec& spec, const std::vector<base::json::value>& values);
  base::Result<NodeId> emit_object(const SchemaSpec& spec);
  void start_members(std::optional<NodeId> undeclared, Members& members);
  base::Status add_property(const SchemaSpec::Property& property, Members& members);
  // Members that no property declares; absent if there may be none.
  base::Result<std::optional<NodeId>> emit_undeclared(const SchemaSpec& spec);
  base::Result<NodeId> emit_key(const SchemaSpec& spec, const SchemaSpec::KeyClass& keys);

  // Rules that all schemas of the grammar share, made at first use.
  NodeId any_value();
  NodeId any_string();
  NodeId any_char();
  RuleId shared(std::string_view name, NodeId (SchemaCompiler::*make)());
  NodeId make_value();
  NodeId make_string();
  NodeId make_object();
  NodeId space();

  Grammar& g_;
  Notes notes_;
  SchemaDocument document_;
  JsonSchemaOptions options_;
  bool declared_only_ = false;
  std::vector<Work> work_;
  std::map<std::vector<const void*>, RuleId> conjunction_rules_;
  std::map<std::vector<const void*>, RuleId> alternative_rules_;
  std::optional<NodeId> space_;
  std::optional<NodeId> any_char_;
};

}  // namespace kvasir::grammar
