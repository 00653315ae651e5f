#pragma once

#include <string>

#include "api/http/fields.h"
#include "api/http/object_schema.h"
#include "grammar/grammar_compiler.h"

namespace kvasir::api {

// What the answer has to be, and the field that said so.
struct OutputFormat {
  grammar::GrammarSource source;
  std::string field;
  std::string schema_path = {};  // of a tool's schema in its place of `field`
};

struct GenerateParams;

// Reads whichever field asks for structure: OpenAI's response_format, vLLM's guided_* and structured_outputs,
// SGLang's regex and ebnf, llama.cpp's grammar and json_schema. Two at once are an error.
base::Status read_structured_output(const json::object& body, GenerateParams& params);

void describe_structured_output(ObjectSchema& schema);

// A compiler's error as an error of the request, with the place in the schema that it is about.
base::Error format_error(const OutputFormat& format, base::Error error);

}  // namespace kvasir::api
