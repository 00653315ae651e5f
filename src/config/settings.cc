#include "config/settings.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <type_traits>

#include "config/setting_table.h"

namespace kvasir::config {
namespace {

template <class Number>
std::string toml_of(Number value) {
  return text_of(value);
}
std::string toml_of(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}
std::string toml_of(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      text += c;
  }
  return text + "\"";
}
std::string toml_of(const StringList& value) {
  StringList texts;
  for (const std::string& one : value) texts.push_back(toml_of(one));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

Settings with_sizes(Settings settings) {
  const bool on_gpu = settings.device == "cuda";
  if (settings.max_batch_tokens == 0) settings.max_batch_tokens = on_gpu ? 8192 : 512;
  if (settings.max_batch_sequences == 0) settings.max_batch_sequences = on_gpu ? 512 : 64;
  if (settings.kv_memory_mb == 0 && !on_gpu) settings.kv_memory_mb = 1024;
  return settings;
}

std::string settings_toml(const Settings& settings) {
  std::string out;
  for_each_setting(settings, [&](const auto& row, const auto& value) {
    using Check = std::remove_cvref_t<decltype(row.check)>;
    if constexpr (std::is_same_v<Check, SecretPairs>) {
      if (!value.empty())
        fmt::format_to(std::back_inserter(out), "# {} is set, and is not shown\n", row.name);
    } else {
      fmt::format_to(std::back_inserter(out), "{} = {}\n", row.name, toml_of(value));
    }
  });
  return out;
}

std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string variable_of(std::string_view name) {
  std::string variable = "KVASIR_" + std::string(name);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return variable;
}

std::string settings_markdown() {
  std::string out =
      "# Settings\n\n"
      "Every setting is a flag, an environment variable and a key of the file that `--config` (or\n"
      "`KVASIR_CONFIG`) names. A flag wins over the environment, the environment over the file, the file "
      "over\n"
      "the default. The file is TOML; its keys are the names below. A list is an array in the file, commas "
      "in\n"
      "the environment, a repeated flag on the command line. A setting that is true or false has two flags:\n"
      "`--offline` and `--no-offline`.\n\n"
      "The file has tables too: `[[tools]]` ([api.md](api.md#tools-that-the-server-runs)), `[[tiers]]` and\n"
      "`[[prices]]` ([tenants.md](tenants.md)), `[[upstream]]` ([upstreams.md](upstreams.md)).\n\n"
      "This page is made from the table in the source by `kvasir settings --markdown`.\n\n"
      "| key | flag | variable | default | may be | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for_each_setting(Settings{}, [&](const auto& row, const auto& value) {
    const std::string text = text_of(value);
    fmt::format_to(std::back_inserter(out), "| `{}` | `{}` | `{}` | {} | {} | {} |\n", row.name,
                   flag_of(row.name), variable_of(row.name), text.empty() ? "" : "`" + text + "`",
                   row.check.words(), row.sentence);
  });
  return out;
}

}  // namespace kvasir::config
