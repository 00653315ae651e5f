#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <vector>

#include "api/http/service/service.h"
#include "hub/library.h"

namespace kvasir::api {

// Which models that are not loaded are meant.
enum class Unloaded : std::uint8_t {
  requestable,  // that a request would load; none unless the server loads models on request
  loadable,     // that who runs the server could load
};

// The models of the catalogue and the model folder that the caller may use and the router does not know.
boost::asio::awaitable<base::Result<std::vector<hub::Model>>> unloaded_models(Service& service,
                                                                              Exchange& exchange,
                                                                              Unloaded which);

}  // namespace kvasir::api
