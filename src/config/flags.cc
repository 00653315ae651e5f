#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <type_traits>

#include "config/load.h"
#include "config/setting_table.h"

namespace kvasir::config {
namespace {

std::string placeholder(const std::string&) {
  return "TEXT";
}
std::string placeholder(const StringList&) {
  return "NAME";
}
std::string placeholder(double) {
  return "NUMBER";
}
std::string placeholder(int) {
  return "N";
}
std::string placeholder(std::int64_t) {
  return "N";
}

void add_switch(CLI::App& app, const std::string& name, const std::string& help, FlagValues& into) {
  const std::string flag = flag_of(name);
  const std::string names = fmt::format("{},!--no-{}", flag, flag.substr(2));
  app.add_flag(names, into.values[name], help);
}

}  // namespace

void add_flags(CLI::App& app, FlagValues& into, const std::vector<std::string>& only) {
  app.add_option("--config", into.config_path, "TOML file with settings")->type_name("FILE");
  for_each_setting(Settings{}, [&](const auto& row, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    const std::string name(row.name);
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) return;
    const std::string text = text_of(value);
    const std::string words = row.check.words();
    std::string help(row.sentence);
    if (!words.empty()) help += fmt::format(" ({})", words);
    if (!text.empty()) help += fmt::format(" [{}]", text);
    if constexpr (std::is_same_v<Value, bool>) {
      add_switch(app, name, help, into);
    } else {
      auto* option = app.add_option_function<std::vector<std::string>>(
          flag_of(name), [&into, name](const std::vector<std::string>& given) { into.values[name] = given; },
          help);
      option->type_name(placeholder(value))->type_size(1)->allow_extra_args(false);
      option->expected(1)->multi_option_policy(std::is_same_v<Value, StringList>
                                                   ? CLI::MultiOptionPolicy::TakeAll
                                                   : CLI::MultiOptionPolicy::TakeLast);
    }
  });
}

}  // namespace kvasir::config
