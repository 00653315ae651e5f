#include "api/answer/model/known_models.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/answer/model/await_model.h"
#include "api/http/work/store_task.h"

namespace kvasir::api {

using Known = std::vector<hub::Model>;

boost::asio::awaitable<base::Result<Known>> unloaded_models(Service& service, Exchange& exchange,
                                                            Unloaded which) {
  const bool all = which == Unloaded::loadable;
  if (service.residence == nullptr || !(all || loads_on_request(service))) co_return Known();
  StoreWork<Known> list = [&residence = *service.residence](store::Store&) -> base::Result<Known> {
    return residence.known();
  };
  base::Result<Known> known = co_await run_on_store<Known>(service, exchange, std::move(list));
  if (!known.ok()) co_return known;
  const std::vector<std::string>& reach = exchange.caller.tier->models;
  const bool pulls = service.residence->options().pulls_on_request;
  std::erase_if(*known, [&](const hub::Model& model) {
    if (model.entry != nullptr && !model.entry->not_served.empty()) return true;
    if (!reach.empty() && std::ranges::find(reach, model.name) == reach.end()) return true;
    return service.router.has(model.name) || !(all || pulls || is_here(model));
  });
  co_return known;
}

}  // namespace kvasir::api
