#include "api/unsupported_fields.h"

#include <algorithm>
#include <string_view>

namespace kvasir::api {

using base::Status;

namespace {

struct Nothing {};

bool one_of(const json::value& value, std::initializer_list<std::string_view> words) {
  return value.is_string() &&
         std::find(words.begin(), words.end(), std::string_view(value.get_string())) != words.end();
}

bool asks_for_nothing(const json::value& value) {
  switch (value.kind()) {
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty();
    case json::kind::string:
      return value.get_string().empty();
    default:
      return value.is_null();
  }
}

Status unless(bool harmless, std::string_view what) {
  return harmless ? base::ok() : Status(not_supported(what));
}

Status never(const json::value& value, Nothing&) {
  return unless(asks_for_nothing(value), "this field is");
}

Status only_text_format(const json::value& value, Nothing&) {
  const json::object* object = value.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  return unless(type != nullptr && one_of(*type, {"text"}), "a format other than {\"type\": \"text\"} is");
}

Status only_text_modality(const json::value& value, Nothing&) {
  const json::array* array = value.if_array();
  const bool text =
      array != nullptr && std::all_of(array->begin(), array->end(),
                                      [](const json::value& item) { return one_of(item, {"text"}); });
  return unless(text, "a modality other than \"text\" is");
}

Status only_one(const json::value& value, Nothing&) {
  return unless(value.is_number() && value.to_number<double>() == 1.0, "a value other than 1 is");
}

Status no_tool_choice(const json::value& value, Nothing&) {
  return unless(one_of(value, {"none", "auto"}), "calling tools is");
}

Status no_tools(const json::value& value, Nothing&) {
  return unless(asks_for_nothing(value), "calling tools is");
}

Status default_tier(const json::value& value, Nothing&) {
  return unless(one_of(value, {"auto", "default"}), "a tier other than \"auto\" or \"default\" is");
}

constexpr Field<Nothing> kUnsupported[] = {
    {"tools", no_tools},
    {"functions", no_tools},
    {"tool_choice", no_tool_choice},
    {"function_call", no_tool_choice},
    {"response_format", only_text_format},
    {"modalities", only_text_modality},
    {"audio", never},
    {"prediction", never},
    {"web_search_options", never},
    {"store", never},
    {"service_tier", default_tier},
    {"reasoning_effort",
     [](const json::value& v, Nothing&) { return unless(one_of(v, {"none"}), "choosing an effort is"); }},
    {"verbosity",
     [](const json::value& v, Nothing&) {
       return unless(one_of(v, {"medium"}), "a verbosity other than \"medium\" is");
     }},
    {"echo", never},
    {"suffix", never},
    {"best_of", only_one},
    {"use_beam_search", never},
    {"length_penalty", only_one},
    {"prompt_logprobs",
     [](const json::value&, Nothing&) -> Status { return not_supported("this field is"); }},
    {"include_stop_str_in_output", never},
    {"truncate_prompt_tokens",
     [](const json::value&, Nothing&) -> Status { return not_supported("this field is"); }},
    {"continue_final_message", never},
    {"chat_template", never},
    {"documents", never},
    {"guided_json", never},
    {"guided_regex", never},
    {"guided_choice", never},
    {"guided_grammar", never},
    {"structured_outputs", never},
    {"grammar", never},
    {"json_schema", never},
};

}  // namespace

Status refuse_unsupported(const json::object& body) {
  Nothing nothing;
  return read_fields<Nothing>(body, kUnsupported, nothing);
}

}  // namespace kvasir::api
