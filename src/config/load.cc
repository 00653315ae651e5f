#include "config/load.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/opentelemetry.h"
#include "config/setting_table.h"
#include "config/toml_file.h"

namespace kvasir::config {
namespace {

using base::ErrorCode;
using Texts = std::vector<std::string>;

template <class Number>
base::Status parse_number(const std::string& text, Number& into, std::string_view kind) {
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, into);
  if (problem == std::errc::result_out_of_range) {
    return base::error(ErrorCode::invalid_argument, "'{}' is out of range", text);
  }
  if (problem != std::errc() || stopped != end) {
    return base::error(ErrorCode::invalid_argument, "expected {}, and got '{}'", kind, text);
  }
  return base::ok();
}

base::Status parse(const Texts& texts, int& into) {
  return parse_number(texts.back(), into, "a whole number");
}
base::Status parse(const Texts& texts, std::int64_t& into) {
  return parse_number(texts.back(), into, "a whole number");
}
base::Status parse(const Texts& texts, double& into) {
  return parse_number(texts.back(), into, "a number");
}
base::Status parse(const Texts& texts, std::string& into) {
  into = texts.back();
  return base::ok();
}
base::Status parse(const Texts& texts, StringList& into) {
  into = texts;
  return base::ok();
}
base::Status parse(const Texts& texts, bool& into) {
  const std::string& text = texts.back();
  const auto is = [&](auto... words) { return ((text == words) || ...); };
  into = is("true", "1", "yes", "on");
  if (into || is("false", "0", "no", "off")) return base::ok();
  return base::error(ErrorCode::invalid_argument, "expected true or false, and got '{}'", text);
}

Texts split_list(const std::string& text) {
  Texts parts;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

template <class T>
Texts environment_texts(const std::string& value, const T&) {
  return {value};
}
Texts environment_texts(const std::string& value, const StringList&) {
  return split_list(value);
}

// Applies one source of settings over the weaker ones that are already in `settings`. `find(name, field)`
// returns a setting's texts in that source, or nothing; `place(name)` is its name in errors.
template <class Find, class Place>
base::Status apply(Settings& settings, Find&& find, Place&& place) {
  base::Status result = base::ok();
  for_each_setting(settings, [&](const auto& row, auto& field) {
    if (!result.ok()) return;
    const std::optional<Texts> texts = find(row.name, field);
    if (!texts) return;
    auto value = field;
    base::Status parsed = base::ok();
    if (texts->empty()) {
      value = {};
    } else {
      parsed = parse(*texts, value);
    }
    if (parsed.ok()) {
      if (const auto complaint = row.check.complaint(value)) {
        parsed = base::error(ErrorCode::invalid_argument, "{}", *complaint);
      }
    }
    if (parsed.ok()) {
      field = std::move(value);
    } else {
      result = base::error(ErrorCode::invalid_argument, "{}: {}", place(row.name), parsed.error().message);
    }
  });
  return result;
}

base::Status apply_file(Settings& settings, const std::string& path) {
  TRY(const TomlFile file, read_toml(path));
  settings.tools = file.tools;
  settings.tiers = file.tiers;
  settings.prices = file.prices;
  settings.upstreams = file.upstreams;
  if (!file.upstreams.empty()) settings.model.clear();  // the default is only for servers without upstreams
  const auto find = [&](std::string_view name, const auto&) -> std::optional<Texts> {
    const auto entry = file.entries.find(name);
    if (entry == file.entries.end()) return std::nullopt;
    return entry->second.texts;
  };
  return apply(settings, find, [&](std::string_view name) {
    return fmt::format("{}:{}: {}", path, file.entries.find(name)->second.line, name);
  });
}

base::Status check_pairs(const Settings& settings) {
  if (settings.pull_on_request && !settings.load_on_request)
    return base::error(ErrorCode::invalid_argument, "pull_on_request goes with load_on_request");
  if (settings.load_on_request && settings.device == "cuda" && settings.kv_memory_mb == 0)
    return base::error(
        ErrorCode::invalid_argument,
        "load_on_request needs kv_memory_mb on a GPU: the first model's KV cache takes the rest "
        "of the memory otherwise");
  if (settings.tls_cert.empty() == settings.tls_key.empty()) return base::ok();
  return base::error(ErrorCode::invalid_argument, "tls_cert and tls_key go together: {} is missing",
                     settings.tls_cert.empty() ? "tls_cert" : "tls_key");
}

}  // namespace

base::Result<Settings> load(const FlagValues& flags, const Environment& env) {
  Settings settings;
  std::string variable;
  const auto in_opentelemetry = [&](std::string_view name, const auto&) -> std::optional<Texts> {
    auto value = opentelemetry_value(name, env);
    if (!value) return std::nullopt;
    variable = value->variable;
    return std::move(value->texts);
  };
  TRY_OK(apply(settings, in_opentelemetry, [&](std::string_view) { return variable; }));
  std::string path = flags.config_path;
  if (path.empty()) path = env("KVASIR_CONFIG").value_or("");
  if (!path.empty()) TRY_OK(apply_file(settings, path));

  const auto in_environment = [&](std::string_view name, const auto& field) -> std::optional<Texts> {
    const auto value = env(variable_of(name));
    if (!value) return std::nullopt;
    return environment_texts(*value, field);
  };
  TRY_OK(apply(settings, in_environment, [](std::string_view name) { return variable_of(name); }));

  const auto in_flags = [&](std::string_view name, const auto&) -> std::optional<Texts> {
    const auto given = flags.values.find(name);
    if (given == flags.values.end() || given->second.empty()) return std::nullopt;
    return given->second;
  };
  TRY_OK(apply(settings, in_flags, [](std::string_view name) { return flag_of(name); }));
  TRY_OK(check_pairs(settings));
  return settings;
}

std::filesystem::path model_dir(const Settings& settings) {
  return settings.model_dir.empty() ? default_model_dir() : std::filesystem::path(settings.model_dir);
}

std::filesystem::path data_dir(const Settings& settings) {
  return settings.data_dir.empty() ? default_data_dir() : std::filesystem::path(settings.data_dir);
}

std::filesystem::path tokenizer_dir(const Settings& settings) {
  return model_dir(settings) / ".tokenizers";
}

std::filesystem::path gpu_products_file(const Settings& settings) {
  return model_dir(settings) / ".gpu-products";
}

}  // namespace kvasir::config
