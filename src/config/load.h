#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/environment.h"
#include "config/settings.h"

namespace CLI {
class App;
}

namespace kvasir::config {

// What the command line said, by setting, not yet looked at. A setting that was not given has no values.
struct FlagValues {
  std::string config_path;
  std::map<std::string, std::vector<std::string>, std::less<>> values;
};

// Gives `app` --config and a flag for each setting, or only for those named. `into` must outlive the parse.
void add_flags(CLI::App& app, FlagValues& into, const std::vector<std::string>& only = {});

// The settings: flag before environment before file before default. The first value that is wrong is an
// error that names its flag, its variable, or its file and line.
base::Result<Settings> load(const FlagValues& flags, const Environment& env = process_environment);

// `settings.model_dir` and `settings.data_dir`, or the user's default ones.
std::filesystem::path model_dir(const Settings& settings);
std::filesystem::path data_dir(const Settings& settings);
// Where prepared tokenizers are kept, with the models.
std::filesystem::path tokenizer_dir(const Settings& settings);

}  // namespace kvasir::config
