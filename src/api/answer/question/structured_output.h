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
  std::string schema_path = {};  // a tool's schema path; if set, used instead of `field`
};

struct GenerateParams;

// Reads the field that asks for structured output: OpenAI's response_format, vLLM's guided_* and
// structured_outputs, SGLang's regex and ebnf, llama.cpp's grammar and json_schema. More than one is an
// error.
base::Status read_structured_output(const json::object& body, GenerateParams& params);

void describe_structured_output(ObjectSchema& schema);

// Turns an error of the grammar compiler into an error of the request that names the place in the schema.
base::Error format_error(const OutputFormat& format, base::Error error);

// Describes what the grammar of a format does not enforce, in one line for each place in the request. The
// lines are printable ASCII, so that they can be headers.
std::vector<std::string> format_warnings(const OutputFormat& format, const grammar::CompiledGrammar& grammar);

}  // namespace kvasir::api
