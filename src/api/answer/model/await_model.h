#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "api/answer/write/outlet.h"
#include "api/http/service/service.h"
#include "router/router.h"

namespace kvasir::api {

// Whether a request may have a model loaded.
bool loads_on_request(const Service& service);

// Where the server loads models on request: loads the one that a request names, and waits until it is ready.
// While the text that is returned lives, the model does not leave. Nothing is returned where there is nothing
// to wait for: whoever asks the router then hears what is wrong. A stream gets its headers and pings
// meanwhile.
boost::asio::awaitable<base::Result<std::optional<router::AnyText>>> await_model(Service& service,
                                                                                 Outlet& out,
                                                                                 std::string model,
                                                                                 bool stream);
// The same for an answer that is no stream.
boost::asio::awaitable<base::Result<std::optional<router::AnyText>>> await_model(Service& service,
                                                                                 Exchange& exchange,
                                                                                 std::string model);
// The same for a JSON body that names the model. A body that cannot be read is left to its reader. `meant` is
// the name of the model that a name means, for APIs whose names are not the server's.
using MeantModel = std::string (*)(const Service& service, std::string name);
boost::asio::awaitable<base::Result<std::optional<router::AnyText>>> await_model_of(
    Service& service, Exchange& exchange, std::shared_ptr<const std::string> body,
    MeantModel meant = nullptr);

// For work that tries again by itself. unavailable: the model is on its way.
base::Status ask_for_model(Service& service, const tenancy::Caller& caller, const std::string& model);

}  // namespace kvasir::api
