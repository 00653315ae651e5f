#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "api/generation.h"
#include "api/outlet.h"
#include "api/service.h"

namespace kvasir::api {

// The turns of a chat that a summary is to take the place of.
struct SummaryPlan {
  std::string model;
  json::array messages;
  std::vector<std::size_t> starts;  // of the turns, in `messages`
  int max_tokens = 0;               // of the summary
  // The request with the summary in it. Called once, on any thread.
  std::function<base::Result<Job>(router::Lease lease, const std::string& summary,
                                  const std::stop_token& stop)>
      resume;
};

// The model's own summary of the turns: one that was made before where there is one, else made of the longest
// one that was, and kept. A stream is pinged meanwhile.
boost::asio::awaitable<base::Result<std::string>> summarize(Service& service, Outlet& out,
                                                            const GenerateParams& params,
                                                            std::shared_ptr<const SummaryPlan> plan);

}  // namespace kvasir::api
