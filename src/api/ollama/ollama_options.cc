#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "api/ollama/ollama_request.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr std::size_t kMaxUnknown = 8;  // warnings about unknown options
constexpr std::size_t kMaxNameBytes = 40;

// The state while the options are read.
struct Options {
  OllamaRequest& request;
  std::optional<int> penalty_window;  // "repeat_last_n"

  GenerateParams& params() { return request.params(); }
};

template <auto kMember>
Status read_sampling(const json::value& value, NumberRange range, Options& options) {
  TRY(const double number, read_number(value, range));
  options.params().sampling.*kMember = static_cast<float>(number);
  return base::ok();
}

Status read_num_predict(const json::value& value, Options& options) {
  TRY(const std::int64_t number, read_integer(value, {-2, kMaxInt}));
  if (number == -2) return read_max_tokens(-1, options.params());  // fill the context
  return read_max_tokens(number, options.params());
}

Status read_own_seed(const json::value& value, Options& options) {
  TRY_OK(read_seed(value, options.params()));
  if (value.to_number<std::int64_t>() == -1) options.params().seed.reset();  // the same as no seed
  return base::ok();
}

Status read_num_ctx(const json::value& value, Options& options) {
  TRY(const std::int64_t number, read_integer(value, {1, kMaxInt}));
  options.request.num_ctx = static_cast<int>(number);
  return base::ok();
}

Status read_penalty_window(const json::value& value, Options& options) {
  TRY(const std::int64_t number, read_integer(value, {-1, kMaxInt}));
  options.penalty_window = static_cast<int>(number);
  return base::ok();
}

// Ignores an option about how a model is loaded and run, which changes no answer.
Status ignore(const json::value&, Options&) {
  return base::ok();
}

Status only_false(const json::value& value, Options&) {
  TRY(const bool wanted, read_bool(value));
  return wanted ? Status(not_supported("a model that is loaded in part is")) : base::ok();
}

template <int kHarmless>
Status only(const json::value& value, Options&) {
  TRY(const double number, read_number(value, {-1e9, 1e9}));
  if (number == kHarmless) return base::ok();
  return not_supported(fmt::format("a value other than {} is", kHarmless));
}

using Sampling = wire::SamplingParams;
constexpr Field<Options> kOptions[] = {
    {"temperature",
     [](const json::value& v, Options& o) { return read_sampling<&Sampling::temperature>(v, {0, 2}, o); }},
    {"top_p", [](const json::value& v, Options& o) { return read_sampling<&Sampling::top_p>(v, {0, 1}, o); }},
    {"min_p", [](const json::value& v, Options& o) { return read_sampling<&Sampling::min_p>(v, {0, 1}, o); }},
    {"top_k", [](const json::value& v, Options& o) { return read_top_k(v, o.params()); }},
    {"seed", read_own_seed},
    {"num_predict", read_num_predict},
    {"num_ctx", read_num_ctx},
    {"stop", [](const json::value& v, Options& o) { return read_stop(v, o.params()); }},
    {"repeat_penalty",
     [](const json::value& v, Options& o) {
       return read_sampling<&Sampling::repetition_penalty>(v, {0.01, 10}, o);
     }},
    {"presence_penalty",
     [](const json::value& v, Options& o) {
       return read_sampling<&Sampling::presence_penalty>(v, {-2, 2}, o);
     }},
    {"frequency_penalty",
     [](const json::value& v, Options& o) {
       return read_sampling<&Sampling::frequency_penalty>(v, {-2, 2}, o);
     }},
    {"repeat_last_n", read_penalty_window},
    {"penalize_newline",
     [](const json::value& v, Options& o) -> Status {
       TRY(const bool wanted, read_bool(v));
       if (!wanted)
         o.params().warnings.emplace_back(
             "options.penalize_newline: ignored, penalties look at line ends as at any token");
       return base::ok();
     }},
    {"typical_p", only<1>},
    {"tfs_z", only<1>},
    {"mirostat", only<0>},
    {"mirostat_tau", ignore},  // unused without mirostat
    {"mirostat_eta", ignore},
    {"vocab_only", only_false},
    {"embedding_only", only_false},
    {"num_keep", ignore},  // only for a context that is shifted, which is never done here
    {"numa", ignore},
    {"num_batch", ignore},
    {"num_gpu", ignore},
    {"main_gpu", ignore},
    {"low_vram", ignore},
    {"f16_kv", ignore},
    {"logits_all", ignore},
    {"use_mmap", ignore},
    {"use_mlock", ignore},
    {"num_thread", ignore},
};

void apply_window(const Options& options, GenerateParams& params) {
  if (!options.penalty_window || *options.penalty_window == -1) return;
  if (*options.penalty_window == 0) {
    params.sampling.repetition_penalty = 1;
    params.sampling.presence_penalty = params.sampling.frequency_penalty = 0;
    params.given.repetition_penalty = true;
    return;
  }
  params.warnings.emplace_back("options.repeat_last_n: ignored, penalties look at the whole text");
}

// Makes the name safe to show in a header.
std::string shown_name(std::string_view name) {
  std::string shown(name.substr(0, kMaxNameBytes));
  std::ranges::replace_if(shown, [](char c) { return c <= ' ' || c > '~'; }, '?');
  return shown;
}

void warn_of_unknown(const json::object& options, std::vector<std::string>& warnings) {
  std::size_t num_unknown = 0;
  for (const auto& [key, value] : options) {
    const std::string_view name = key;
    if (value.is_null() || std::ranges::find(kOptions, name, &Field<Options>::name) != std::end(kOptions))
      continue;
    if (++num_unknown > kMaxUnknown) return;
    warnings.push_back(fmt::format("options.{}: ignored, no such option is known", shown_name(name)));
  }
}

// The seconds of one unit of a duration such as "1h30m"; 0 if there is no such unit.
double seconds_of(std::string_view unit) {
  if (unit == "h") return 3600;
  if (unit == "m") return 60;
  if (unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "us" || unit == "µs") return 1e-6;
  return unit == "ns" ? 1e-9 : 0;
}

base::Error wrong_duration() {
  return wrong_value("expected a number of seconds, or a text such as \"5m\" or \"1h30m\"");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Result<double> read_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > kMaxNameBytes) return wrong_duration();
  double total = 0;
  while (!text.empty()) {
    const std::size_t end_of_number = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string number(text.substr(0, end_of_number));
    if (std::ranges::none_of(number, is_digit) || std::ranges::count(number, '.') > 1)
      return wrong_duration();
    text.remove_prefix(end_of_number);
    const std::size_t end_of_unit = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, end_of_unit);
    text.remove_prefix(end_of_unit);
    const double value = std::stod(number);
    const double factor = unit.empty() && text.empty() && total == 0 ? 1 : seconds_of(unit);
    if (factor == 0) return wrong_duration();
    total += value * factor;
  }
  return negative ? -total : total;
}

}  // namespace

Status read_ollama_options(const json::value& value, OllamaRequest& request) {
  if (!value.is_object()) return wrong_type("an object", value);
  Options options{request, std::nullopt};
  TRY_OK(read_fields<Options>(value.get_object(), kOptions, options));
  request.params().given = given_sampling(value.get_object());
  apply_window(options, request.params());
  warn_of_unknown(value.get_object(), request.params().warnings);
  return base::ok();
}

Result<KeepAlive> read_keep_alive(const json::value& value) {
  double seconds = 0;
  if (value.is_string()) {
    TRY(seconds, read_duration(value.get_string()));
  } else {
    if (!value.is_number()) return wrong_type("a number of seconds or a string", value);
    seconds = value.to_number<double>();
  }
  if (seconds < 0) return KeepAlive::forever;
  return seconds == 0 ? KeepAlive::not_at_all : KeepAlive::some_time;
}

Status read_embedding_options(const json::value& value, std::vector<std::string>& warnings) {
  OllamaRequest request;
  TRY_OK(read_ollama_options(value, request));
  if (request.num_ctx) warnings.emplace_back("options.num_ctx: ignored, the model's own context is used");
  return base::ok();
}

}  // namespace kvasir::api
