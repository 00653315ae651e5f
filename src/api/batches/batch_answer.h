#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <set>
#include <string>

#include "api/answer/run/generation.h"
#include "api/http/service/service.h"
#include "store/batches.h"

namespace kvasir::api {

// Returns the whole answer to one line of a batch, for which no client waits. Everything runs on the
// executor, even tokenizing. `running` holds the line's generation while there is one, so that it can be
// cancelled; `running` outlives the call.
boost::asio::awaitable<base::Result<std::string>> answer_line(Service& service,
                                                              boost::asio::any_io_executor executor,
                                                              const store::Batch& batch,
                                                              const store::BatchLine& line,
                                                              std::set<Generation*>& running);

}  // namespace kvasir::api
