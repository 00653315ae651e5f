#include "api/responses/conversed_keeper.h"

#include <utility>

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;
using base::Status;

namespace {

// The items after the last call of a tool of this server. Earlier items are in messages of earlier rounds.
json::array last_items(const json::object& response) {
  json::array items;
  for (const json::value& item : response.at("output").as_array()) {
    if (item.at("type") == "mcp_call")
      items.clear();
    else
      items.push_back(item);
  }
  return items;
}

}  // namespace

void ConversedKeeper::watch(ResponsesShape& shape) {
  shape_ = &shape;
  if (response_) response_->watch(shape);
}

asio::awaitable<Status> ConversedKeeper::begin(const Job& job) {
  Status begun = co_await turn_->begin(job);
  if (!begun.ok() || !response_) co_return begun;
  begun = co_await response_->begin(job);
  if (!begun.ok()) (void)co_await turn_->end(Ending::failed, {});
  co_return begun;
}

asio::awaitable<void> ConversedKeeper::take(const std::vector<Delta>& deltas) {
  for (const Delta& delta : deltas) join(sum_, delta);
  co_await turn_->take(deltas);
  if (response_) co_await response_->take(deltas);
}

void ConversedKeeper::note_failure(const base::Error& error) {
  if (response_) response_->note_failure(error);
}

asio::awaitable<Result<base::json::object>> ConversedKeeper::end(Ending ending, const wire::Usage& usage) {
  if (ending == Ending::finished && shape_ != nullptr)
    turn_->set_items(last_items(shape_->finished(sum_, usage)));
  Result<base::json::object> turn = co_await turn_->end(ending, usage);
  if (!response_) {
    if (!turn.ok()) co_return std::move(turn).error();
    co_return base::json::object();
  }
  Result<base::json::object> kept = co_await response_->end(ending, usage);
  if (!turn.ok()) co_return std::move(turn).error();
  co_return std::move(kept);
}

}  // namespace kvasir::api
