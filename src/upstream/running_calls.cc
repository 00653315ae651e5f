#include "upstream/running_calls.h"

#include <boost/asio/post.hpp>
#include <vector>

#include "upstream/call.h"

namespace kvasir::upstream {

void RunningCalls::add(const std::shared_ptr<Call>& call) {
  const std::lock_guard lock(mutex_);
  calls_[call.get()] = call;
}

void RunningCalls::remove(const Call* call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
}

void RunningCalls::end_all(const base::Error& why) {
  std::vector<std::shared_ptr<Call>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [unused, weak] : calls_)
      if (auto call = weak.lock()) calls.push_back(std::move(call));
  }
  for (std::shared_ptr<Call>& call : calls) {
    const boost::asio::any_io_executor executor = call->executor();
    boost::asio::post(executor, [call = std::move(call), why] { call->end_with(why); });
  }
}

}  // namespace kvasir::upstream
