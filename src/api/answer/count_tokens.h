#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>

#include "api/answer/question/chat_request.h"
#include "api/http/service/service.h"

namespace kvasir::api {

// Counts the tokens of a chat's prompt. A large body is tokenized on another thread than the I/O threads.
boost::asio::awaitable<base::Result<std::size_t>> count_tokens(Service& service, Exchange& exchange,
                                                               ChatRequest chat);

}  // namespace kvasir::api
