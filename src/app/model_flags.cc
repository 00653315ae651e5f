#include "app/model_flags.h"

#include "config/environment.h"

namespace kvasir::app {

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  flags.model_dir = config::default_model_dir();
  flags.hf_endpoint = "https://huggingface.co";
  command.add_option("--model-dir", flags.model_dir, "Folder of the models")
      ->type_name("DIR")
      ->envname("KVASIR_MODEL_DIR")
      ->capture_default_str();
  command.add_option("--hf-endpoint", flags.hf_endpoint, "Address of the hub for hf: sources")
      ->type_name("URL")
      ->envname("KVASIR_HF_ENDPOINT")
      ->capture_default_str();
  command.add_flag("--offline", flags.offline, "Ask no server; use only what is on this machine")
      ->envname("KVASIR_OFFLINE");
}

base::Result<hub::Library> open_library(const ModelFlags& flags) {
  TRY(hub::Catalogue catalogue, hub::Catalogue::load(config::user_config_dir() / "models.toml"));
  return hub::Library(std::move(catalogue), flags.model_dir);
}

hub::PullOptions pull_options(const ModelFlags& flags, std::stop_token stop) {
  hub::PullOptions options;
  options.model_dir = flags.model_dir;
  options.hf_endpoint = flags.hf_endpoint;
  options.hf_token = config::environment("HF_TOKEN");
  options.offline = flags.offline;
  options.stop = std::move(stop);
  return options;
}

}  // namespace kvasir::app
