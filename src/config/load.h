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

// The values on the command line, by setting, not yet checked. A setting that was not given has no values.
struct FlagValues {
  std::string config_path;
  std::map<std::string, std::vector<std::string>, std::less<>> values;
};

// Adds --config and a flag for each setting, or only for those in `only`, to `app`. `into` must outlive the
// parse.
void add_flags(CLI::App& app, FlagValues& into, const std::vector<std::string>& only = {});

// Loads the settings. A flag takes precedence over the environment, then comes the file, then the default.
// The first wrong value is an error that names its flag, its variable, or its file and line.
base::Result<Settings> load(const FlagValues& flags, const Environment& env = process_environment);

// `settings.model_dir` and `settings.data_dir`, or the user's default folders.
std::filesystem::path model_dir(const Settings& settings);
std::filesystem::path data_dir(const Settings& settings);
// The folder of prepared tokenizers, beside the models.
std::filesystem::path tokenizer_dir(const Settings& settings);
// The file that keeps what was measured on a GPU.
std::filesystem::path gpu_products_file(const Settings& settings);

}  // namespace kvasir::config
