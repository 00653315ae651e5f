#include "tool/lookups.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <system_error>
#include <utility>

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;

Lookups::Lookups(asio::any_io_executor executor, Find find)
    : executor_(std::move(executor)), find_(std::move(find)) {}

std::shared_ptr<Lookups::Lookup> Lookups::join_or_begin(const net::Url& url) {
  const std::string host = (url.tls ? "https://" : "http://") + url.authority();
  if (const auto it = running_.find(host); it != running_.end()) return it->second.lookup;
  auto lookup = std::make_shared<Lookup>();
  try {
    std::jthread thread([this, host, url, find = find_, executor = executor_](const std::stop_token& stop) {
      asio::post(executor,
                 [this, host, found = find(url, stop)]() mutable { finish(host, std::move(found)); });
    });
    running_.emplace(host, Running{lookup, std::move(thread)});
  } catch (const std::system_error& e) {
    lookup->found = base::error(ErrorCode::unavailable, "cannot look up {}: {}", url.host, e.what());
  }
  return lookup;
}

void Lookups::finish(const std::string& host, Found found) {
  const auto it = running_.find(host);
  if (it == running_.end()) return;
  const std::shared_ptr<Lookup> lookup = it->second.lookup;
  running_.erase(it);  // joins its thread, which is already finished
  lookup->found = std::move(found);
  for (asio::steady_timer* wake : lookup->waiting) wake->cancel();
}

asio::awaitable<Lookups::Found> Lookups::find(net::Url url, Lifeline& line) {
  const std::shared_ptr<Lookup> lookup = join_or_begin(url);
  asio::steady_timer wake(executor_, asio::steady_timer::time_point::max());
  lookup->waiting.insert(&wake);
  line.on_end([&wake] { wake.cancel(); });
  while (!lookup->found && !line.over()) {
    boost::system::error_code ignored;
    co_await wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  line.on_end({});
  lookup->waiting.erase(&wake);
  if (line.over()) co_return line.error();
  co_return *lookup->found;
}

}  // namespace kvasir::tool
