#pragma once

#include <string>
#include <vector>

#include "api/http/json/fields.h"
#include "api/http/json/object_schema.h"
#include "grammar/grammar_compiler.h"

namespace kvasir::api {

// The required format of an answer, and the request's field that asked for it.
struct OutputFormat {
  grammar::GrammarSource source;
  std::string field;
  std::string schema_path = {};  // path of a tool's schema, used instead of `field`
};

struct GenerateParams;

// Reads the field that asks for structured output: OpenAI's response_format, vLLM's guided_* and
// structured_outputs, SGLang's regex and ebnf, llama.cpp's grammar and json_schema. More than one is an
// error.
base::Status read_structured_output(const json::object& body, GenerateParams& params);

void describe_structured_output(ObjectSchema& schema);

// Turns a compiler's error into an error of the request that names the place in the schema.
base::Error format_error(const OutputFormat& format, base::Error error);

// What the grammar of a format does not enforce, one line each with its place in the request. Printable
// ASCII, so that the lines can be headers.
std::vector<std::string> format_warnings(const OutputFormat& format, const grammar::CompiledGrammar& grammar);

}  // namespace kvasir::api
