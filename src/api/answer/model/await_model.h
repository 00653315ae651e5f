#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "api/answer/write/outlet.h"
#include "api/http/service/service.h"
#include "router/router.h"

namespace kvasir::api {

// Whether the server loads a model because a request names it.
bool loads_on_request(const Service& service);

// If the server loads models on request, loads the model that a request names, and waits until it is ready.
// The model is not unloaded while the returned text lives. Returns nothing if there is nothing to wait for;
// the router then says what is wrong with the name, if anything. A stream gets its headers and pings
// meanwhile.
boost::asio::awaitable<base::Result<std::optional<router::AnyText>>> await_model(Service& service,
                                                                                 Outlet& out,
                                                                                 std::string model,
                                                                                 bool stream);
// As above, for an answer that is not a stream.
boost::asio::awaitable<base::Result<std::optional<router::AnyText>>> await_model(Service& service,
                                                                                 Exchange& exchange,
                                                                                 std::string model);
// As above, for a JSON body that names the model. A body that cannot be read is left to its reader, which
// reports the error. `meant` maps a name of the request to a model's name, for APIs that have names of their
// own.
using MeantModel = std::string (*)(const Service& service, std::string name);
boost::asio::awaitable<base::Result<std::optional<router::AnyText>>> await_model_of(
    Service& service, Exchange& exchange, std::shared_ptr<const std::string> body,
    MeantModel meant = nullptr);

// Asks for a model without waiting, for work that tries again by itself. Fails with unavailable while the
// model is being loaded.
base::Status ask_for_model(Service& service, const tenancy::Caller& caller, const std::string& model);

}  // namespace kvasir::api
