#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/answer/question/chat_request.h"
#include "api/answer/write/outlet.h"
#include "api/http/service/service.h"
#include "router/model_text.h"

namespace kvasir::api {

// The turns of a chat that a summary is to replace.
struct SummaryPlan {
  router::ChatTextPtr model;
  json::array messages;
  std::vector<std::size_t> starts;  // indices of the turns in `messages`
  int max_tokens = 0;               // the most tokens of the summary
};

// Plans a summary of the first `num_turns` turns.
SummaryPlan plan_summary(router::ChatTextPtr model, const ChatRequest& chat, std::size_t num_turns);

// The model's summary of the planned turns. Summaries are stored: one of exactly these turns is reused, and
// otherwise the stored one of the most turns is continued. With `pings` the client gets pings meanwhile.
boost::asio::awaitable<base::Result<std::string>> summarize(Service& service, Outlet& out, bool pings,
                                                            std::shared_ptr<const SummaryPlan> plan);

}  // namespace kvasir::api
