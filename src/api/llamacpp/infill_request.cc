#include "api/llamacpp/infill_request.h"

#include <limits>
#include <utility>

#include "api/answer/model/auto_model.h"
#include "api/llamacpp/endpoints.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxFiles = 1024;
constexpr std::size_t kMaxAnswerFields = 64;

// The fields that only this endpoint has. Other fields are those of all endpoints that generate text.
struct OwnFields {
  std::string before;
  Infill infill{.suffix_field = "input_suffix"};
  int num_choices = 1;
  std::optional<std::vector<std::string>> answer_fields;
  std::vector<std::string> warnings;
};

Result<ContextFile> read_file(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return wrong_type("an object with \"filename\" and \"text\"", value);
  ContextFile file{.name = "tmp"};
  static constexpr Field<ContextFile> kFileFields[] = {
      {"filename",
       [](const json::value& v, ContextFile& f) -> Status {
         TRY(f.name, read_string(v));
         return base::ok();
       }},
      {"text",
       [](const json::value& v, ContextFile& f) -> Status {
         TRY(f.text, read_string(v));
         return base::ok();
       },
       {},
       "a string"},
  };
  TRY_OK(read_fields<ContextFile>(*object, kFileFields, file));
  return file;
}

template <class Item>
Status read_list(const json::value& value, std::size_t most, Result<Item> (*read)(const json::value&),
                 std::vector<Item>& items) {
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_type("an array", value);
  if (array->size() > most)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} entries, got {}", most, array->size()),
                 {},
                 "array_above_max_length"};
  for (std::size_t i = 0; i < array->size(); ++i) {
    auto item = read((*array)[i]);
    if (!item.ok()) return in_field(fmt::format("[{}]", i), std::move(item).error());
    items.push_back(std::move(*item));
  }
  return base::ok();
}

Status read_time_limit(const json::value& value, std::string_view field, OwnFields& own) {
  TRY(const double limit, read_number(value, {-1, std::numeric_limits<double>::max()}));
  if (limit > 0) own.warnings.push_back(fmt::format("{}: ignored, an answer has no limit of time", field));
  return base::ok();
}

using O = OwnFields;
constexpr Field<O> kOwnFields[] = {
    {"input_prefix",
     [](const json::value& v, O& o) -> Status {
       TRY(o.before, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "default": "", "description": "Text before the gap."})"},
    {"input_suffix",
     [](const json::value& v, O& o) -> Status {
       TRY(o.infill.suffix, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "default": "", "description": "Text after the gap."})"},
    {"input_extra",
     [](const json::value& v, O& o) { return read_list(v, kMaxFiles, read_file, o.infill.files); },
     R"({"type": "array", "maxItems": 1024, "items": {"type": "object", "required": ["text"],
          "properties": {"filename": {"type": ["string", "null"]}, "text": {"type": "string"}}},
         "description": "Files that the model reads first. The first of them are left out if not all fit."})"},
    {"prompt",
     [](const json::value& v, O& o) -> Status {
       TRY(o.infill.begun, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "default": "", "description": "How the gap is filled already."})"},
    {"n_cmpl",
     [](const json::value& v, O& o) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, kMaxSequencesPerRequest}));
       o.num_choices = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 128, "default": 1,
         "description": "The same as `n`. The answer is an array if there are several."})"},
    {"response_fields",
     [](const json::value& v, O& o) {
       return read_list(v, kMaxAnswerFields, read_string, o.answer_fields.emplace());
     },
     R"({"type": "array", "maxItems": 64, "items": {"type": "string"},
         "description": "Only these fields of the answer. `timings/prompt_n` is a field inside of another."})"},
    {"samplers",
     [](const json::value& v, O& o) -> Status {
       if (!v.is_array() && !v.is_string()) return wrong_type("an array or a string", v);
       o.warnings.emplace_back("samplers: ignored, the order of samplers is fixed");
       return base::ok();
     }},
    {"n_indent",
     [](const json::value& v, O& o) -> Status {
       TRY(const std::int64_t number, read_integer(v, {0, std::numeric_limits<int>::max()}));
       if (number > 0) o.warnings.emplace_back("n_indent: ignored, lines may be indented less");
       return base::ok();
     }},
    {"t_max_prompt_ms", [](const json::value& v, O& o) { return read_time_limit(v, "t_max_prompt_ms", o); }},
    {"t_max_predict_ms",
     [](const json::value& v, O& o) { return read_time_limit(v, "t_max_predict_ms", o); }},
    {"id_slot",
     [](const json::value& v, O&) -> Status {
       TRY_OK(read_integer(v, {-1, std::numeric_limits<int>::max()}));  // there are no slots to choose from
       return base::ok();
     }},
};

bool has(const json::object& body, std::string_view field) {
  const json::value* value = body.if_contains(field);
  return value != nullptr && !value->is_null();
}

// llama.cpp's clients send no model, -1 for a random seed, and 0 tokens to have a prompt read in advance.
void adapt(json::object& body, CompletionRequest& request) {
  if (!has(body, "model")) body["model"] = kAutoModel;
  if (has(body, "seed") && body["seed"] == -1) body.erase("seed");
  if (!has(body, "n_predict") || body["n_predict"] != 0) return;
  body["n_predict"] = 1;
  request.prompt_alone = true;
}

ObjectSchema all_fields() {
  ObjectSchema fields;
  fields.add<OwnFields>(kOwnFields);
  describe_params(fields);
  return fields;
}

}  // namespace

Result<InfillRequest> read_infill_request(json::object body) {
  OwnFields own;
  static const ObjectSchema known = all_fields();
  known.warn_of_others(body, own.warnings);
  TRY_OK(read_fields<OwnFields>(body, kOwnFields, own));
  for (const Field<OwnFields>& field : kOwnFields) body.erase(field.name);
  InfillRequest request;
  CompletionRequest& completion = request.completion;
  adapt(body, completion);
  TRY_OK(read_params(body, completion.params));
  if (completion.params.max_prompt_tokens)
    return in_field("truncate_prompt_tokens", not_supported("cutting a prompt around a gap is"));
  if (completion.params.show_prompt_logprobs)
    return in_field("prompt_logprobs", not_supported("this field is"));
  completion.params.n = std::max(completion.params.n, own.num_choices);
  completion.params.warnings.insert(completion.params.warnings.end(), own.warnings.begin(),
                                    own.warnings.end());
  completion.prompt_field = "input_prefix";
  completion.prompts.emplace_back(std::move(own.before));
  completion.infill = std::move(own.infill);
  request.answer_fields = std::move(own.answer_fields);
  return request;
}

json::object infill_request_schema() {
  json::object made = all_fields().take();
  // A request may lack the model here, and may have its prompt read without an answer.
  made.erase("required");
  json::object& fields = made.at("properties").as_object();
  fields.erase("truncate_prompt_tokens");
  fields.erase("prompt_logprobs");
  fields["model"] = schema_literal(
      R"({"type": ["string", "null"],
          "description": "One of the models that can fill in the middle, or `auto`, which is also the default."})");
  fields["n_predict"] = schema_literal(
      R"({"type": ["integer", "null"], "minimum": -1, "maximum": 2147483647, "default": -1,
          "description": "Tokens of the answer; 0: the prompt is read and nothing is generated; -1: the rest of the context."})");
  return made;
}

}  // namespace kvasir::api
