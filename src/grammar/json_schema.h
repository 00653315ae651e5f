#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/result.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

struct JsonSchemaOptions {
  // The most blanks in one place: after `{ [ , :` and before `} ]`. Bounded, since a model may go on writing
  // blanks. 0 makes the JSON compact.
  std::uint32_t max_whitespace = 32;
};

// The JSON texts that are valid under a schema (draft 2020-12, and the older spellings of tuples and
// definitions). Properties come in the order of their declaration, optional ones may be left out, and
// undeclared ones come last. Every text of the grammar is valid, but not every valid text is in the grammar
// (other orders, 1.0 for an integer, more than 40 digits). A keyword that restricts values and cannot be
// enforced is an error with its path in `field`. Unknown keywords and formats, and uniqueItems of more than a
// few values, are ignored; the grammar's notes say where.
base::Result<Grammar> grammar_of_json_schema(const base::json::value& schema, JsonSchemaOptions options = {});

// Any JSON object.
base::Result<Grammar> grammar_of_json_object(JsonSchemaOptions options = {});

}  // namespace kvasir::grammar
