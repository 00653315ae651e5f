#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>

#include "api/http/service/service.h"
#include "api/http/wait/event_log.h"

namespace kvasir::api {

// Begins a stream of server-sent events, or of another media type if `media` names one.
boost::asio::awaitable<base::Result<net::SseWriter*>> start_stream(
    Exchange& exchange, std::string_view media = net::kEventStream);

// Answers with the events of a resumable stream after number `after`, including those still to come.
boost::asio::awaitable<void> replay_log(Service& service, Exchange& exchange, std::shared_ptr<EventLog> log,
                                        std::uint64_t after);

}  // namespace kvasir::api
