#include "api/http/work/answer_by_store.h"

#include <memory>
#include <stop_token>
#include <utility>

#include "base/json.h"
#include "tenancy/caller.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using Work = StoreWork<json::object>;

store::Key key_of(const Exchange& exchange) {
  return {exchange.caller.tenant, exchange.parameter("id")};
}

asio::awaitable<void> answer_by(Service& service, Exchange& exchange, Work work) {
  // A page may have megabytes, so it is serialized on the store's thread rather than on an I/O thread.
  StoreWork<std::string> write = [work = std::move(work)](store::Store& store) -> Result<std::string> {
    TRY(const json::object object, work(store));
    return base::json_text(object);
  };
  Result<std::string> text = co_await run_on_store<std::string>(service, exchange, std::move(write));
  if (!text.ok()) {
    co_await reply_error(exchange, text.error());
    co_return;
  }
  net::HttpResponse response = net::HttpResponse::json(200, std::move(*text));
  co_await reply(exchange, std::move(response));
}

asio::awaitable<void> answer_by_plan(Service& service, Exchange& exchange, StorePlan plan) {
  const std::size_t num_bytes = exchange.request.body.size();
  auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<Work>::Work read = [plan = std::move(plan), body](const std::stop_token&) { return plan(*body); };
  Result<Work> work = co_await run_text_work<Work>(service.reading, exchange, num_bytes, std::move(read));
  exchange.request.body_hold.reset();
  if (!work.ok()) {
    co_await reply_error(exchange, work.error());
    co_return;
  }
  co_await answer_by(service, exchange, std::move(*work));
}

}  // namespace kvasir::api
