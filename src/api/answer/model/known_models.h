#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <vector>

#include "api/http/service/service.h"
#include "hub/library.h"

namespace kvasir::api {

// Selects among the models that are not loaded.
enum class Unloaded : std::uint8_t {
  requestable,  // those that a request would load; none unless the server loads models on request
  loadable,     // those that the server's operator could load
};

// The models of the catalogue and of the model folder that the caller may use and that the router does not
// know.
boost::asio::awaitable<base::Result<std::vector<hub::Model>>> unloaded_models(Service& service,
                                                                              Exchange& exchange,
                                                                              Unloaded which);

}  // namespace kvasir::api
