#include "grammar/json_schema.h"

#include "grammar/schema_compiler.h"

namespace kvasir::grammar {

base::Result<Grammar> grammar_of_json_schema(const base::json::value& schema, JsonSchemaOptions options) {
  Grammar grammar;
  SchemaCompiler compiler(grammar, schema, options);
  TRY(const RuleId root, compiler.compile());
  grammar.set_root(root);
  grammar.add_notes(compiler.notes());
  TRY_OK(grammar.check());
  return grammar;
}

base::Result<Grammar> grammar_of_json_object(JsonSchemaOptions options) {
  static const base::json::value kAny(true);
  Grammar grammar;
  grammar.set_root(SchemaCompiler(grammar, kAny, options).any_object());
  TRY_OK(grammar.check());
  return grammar;
}

}  // namespace kvasir::grammar
