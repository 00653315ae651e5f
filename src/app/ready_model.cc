#include "app/ready_model.h"

#include "hub/open.h"

namespace kvasir::app {

base::Result<std::filesystem::path> find_ready_model(const std::string& name,
                                                     const config::Settings& settings) {
  TRY(const hub::Library library, hub::open_library(settings));
  TRY(hub::Model model, library.find(name));
  if (model.state == hub::ModelState::ready || model.state == hub::ModelState::own) return model.path;
  return base::error(base::ErrorCode::not_found, "{} is not here yet: run 'kvasir pull {}'", model.name,
                     model.name);
}

}  // namespace kvasir::app
