#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "net/responder.h"
#include "seam/embed_client.h"

namespace kvasir::api {

// Waits for the sequences' vectors, on the responder's executor. Calls `on_queued` if the worker takes them.
// Fails with cancelled if the client left first.
boost::asio::awaitable<base::Result<std::vector<float>>> embed(net::Responder& responder,
                                                               seam::EmbedClient& client,
                                                               std::vector<std::vector<TokenId>> sequences,
                                                               std::function<void()> on_queued);

}  // namespace kvasir::api
