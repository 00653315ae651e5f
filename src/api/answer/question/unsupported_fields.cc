#include "api/answer/question/unsupported_fields.h"

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

Status only_text_modality(const json::value& value, Nothing&) {
  const json::array* array = value.if_array();
  const bool text =
      array != nullptr && std::all_of(array->begin(), array->end(),
                                      [](const json::value& item) { return one_of(item, {"text"}); });
  return unless(text, "a modality other than \"text\" is");
}

// Accepts a number only if it has no effect.
template <int kHarmless>
Status only(const json::value& value, Nothing&) {
  return unless(value.is_number() && value.to_number<double>() == kHarmless,
                fmt::format("a value other than {} is", kHarmless));
}

Status only_true(const json::value& value, Nothing&) {
  return unless(value.is_bool() && value.get_bool(), "a value other than true is");
}

// Refuses a field whose every value asks for something, even 0.
Status always(const json::value&, Nothing&) {
  return not_supported("this field is");
}

Status no_tool_choice(const json::value& value, Nothing&) {
  return unless(one_of(value, {"none", "auto"}), "this old field (use \"tool_choice\") is");
}

Status no_tools(const json::value& value, Nothing&) {
  return unless(asks_for_nothing(value), "this old field (use \"tools\") is");
}

constexpr Field<Nothing> kUnsupported[] = {
    // OpenAI
    {"functions", no_tools},
    {"function_call", no_tool_choice},
    {"modalities", only_text_modality},
    {"audio", never},
    {"web_search_options", always},
    {"moderation", never},

    // vLLM
    {"use_beam_search", never},
    {"length_penalty", only<1>},
    {"include_stop_str_in_output", never},
    {"chat_template", never},
    {"documents", never},
    {"guided_decoding_backend", never},
    {"guided_whitespace_pattern", never},
    {"structural_tag", never},
    {"skip_special_tokens", only_true},
    {"detokenize", only_true},
    {"include_reasoning", only_true},
    {"thinking_token_budget", always},
    {"bad_words", never},
    {"allowed_token_ids", always},  // an empty list allows none
    {"return_token_ids", never},
    {"return_tokens_as_token_ids", never},
    {"logits_processors", never},
    {"vllm_xargs", never},
    {"priority", only<0>},
    {"cache_salt", never},
    {"kv_transfer_params", never},
    {"mm_processor_kwargs", never},
    {"prompt_embeds", never},

    // SGLang
    {"stop_regex", never},
    {"no_stop_trim", never},
    {"lora_path", never},
    {"return_hidden_states", never},
    {"custom_logit_processor", never},
    {"max_new_tokens", always},
    {"min_new_tokens", only<0>},

    // llama.cpp
    {"grammar_lazy", never},
    {"n_keep", only<0>},
    {"n_indent", only<0>},
    {"n_probs", only<0>},
    {"min_keep", only<0>},
    {"typical_p", only<1>},
    {"typ_p", only<1>},
    {"tfs_z", only<1>},
    {"top_n_sigma", only<-1>},
    {"dynatemp_range", only<0>},
    {"mirostat", only<0>},
    {"dry_multiplier", only<0>},
    {"xtc_probability", only<0>},
    {"adaptive_target", only<-1>},
    {"samplers", never},
    {"t_max_predict_ms", only<0>},
    {"id_slot", only<-1>},
    {"lora", never},
    {"image_data", never},
    {"post_sampling_probs", never},
    {"return_tokens", never},
    {"return_progress", never},
    {"timings_per_token", never},
    {"response_fields", never},
};

// These fields only tune a sampler that is off.
constexpr Field<Nothing> kTuning[] = {
    {"mirostat_tau", nullptr},       {"mirostat_eta", nullptr},       {"dry_base", nullptr},
    {"dry_allowed_length", nullptr}, {"dry_penalty_last_n", nullptr}, {"dry_sequence_breakers", nullptr},
    {"xtc_threshold", nullptr},      {"dynatemp_exponent", nullptr},  {"adaptive_decay", nullptr},
};

}  // namespace

Status refuse_unsupported(const json::object& body) {
  Nothing nothing;
  return read_fields<Nothing>(body, kUnsupported, nothing);
}

void describe_unsupported(ObjectSchema& schema) {
  schema.add<Nothing>(kUnsupported).add<Nothing>(kTuning);
}

}  // namespace kvasir::api
