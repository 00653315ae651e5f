#include "api/openai/only_model.h"

#include "api/answer/question/generate_params.h"
#include "api/http/caller/caller.h"
#include "api/http/json/fields.h"

namespace kvasir::api {

base::Result<std::string> named_or_only(const Service& service, const tenancy::Caller& caller,
                                        std::string name) {
  if (!name.empty()) return name;
  const auto models = service.router.models(reach_of(caller));
  if (models.size() == 1) return models.front().name;
  return in_field("model", missing(kModelExpected));
}

}  // namespace kvasir::api
