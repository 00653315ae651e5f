#include "hub/open.h"

#include "config/environment.h"
#include "config/load.h"

namespace kvasir::hub {

base::Result<Library> open_library(const config::Settings& settings) {
  TRY(Catalogue catalogue, Catalogue::load(config::user_config_dir() / "models.toml"));
  return Library(std::move(catalogue), config::model_dir(settings));
}

PullOptions pull_options(const config::Settings& settings, std::stop_token stop) {
  PullOptions options;
  options.model_dir = config::model_dir(settings);
  options.hf_endpoint = settings.hf_endpoint;
  options.hf_token = config::environment("HF_TOKEN");
  options.offline = settings.offline;
  options.stop = std::move(stop);
  return options;
}

}  // namespace kvasir::hub
