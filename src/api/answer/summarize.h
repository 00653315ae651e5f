#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/answer/chat_request.h"
#include "api/answer/outlet.h"
#include "api/http/service.h"
#include "router/model_text.h"

namespace kvasir::api {

// The turns of a chat that a summary is to take the place of.
struct SummaryPlan {
  router::ChatTextPtr model;
  json::array messages;
  std::vector<std::size_t> starts;  // of the turns, in `messages`
  int max_tokens = 0;               // of the summary
};

// Of the first `num_turns` turns.
SummaryPlan plan_summary(router::ChatTextPtr model, const ChatRequest& chat, std::size_t num_turns);

// The model's own summary of the turns: one that was made before where there is one, else made of the longest
// one that was, and kept. With `pings` the client is told meanwhile that somebody works on it.
boost::asio::awaitable<base::Result<std::string>> summarize(Service& service, Outlet& out, bool pings,
                                                            std::shared_ptr<const SummaryPlan> plan);

}  // namespace kvasir::api
