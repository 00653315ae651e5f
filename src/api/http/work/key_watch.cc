#include "api/http/work/key_watch.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace kvasir::api {

namespace {

base::Error key_ended() {
  return {.code = base::ErrorCode::unauthenticated,
          .message = "the API key was revoked or has expired while the request ran",
          .reason = "key_revoked"};
}

base::Error request_cancelled() {
  return {.code = base::ErrorCode::cancelled,
          .message = "the request was cancelled while it ran",
          .reason = "request_cancelled"};
}

}  // namespace

KeyWatch::KeyWatch(Service& service, Exchange& exchange)
    : cancellable_(service.cancellable),
      executor_(exchange.responder.executor()),
      by_key_(service.directory.runs().enter(exchange.caller.key, end_with(key_ended))),
      by_request_(cancellable_.enter(exchange.id, end_with(request_cancelled))) {}

KeyWatch::~KeyWatch() {
  state_->told = {};
}

std::function<void()> KeyWatch::end_with(base::Error (*why)()) const {
  return [state = state_, executor = executor_, why] {
    boost::asio::post(executor, [state, why] {
      if (state->why) return;
      state->why = why();
      if (state->told) std::exchange(state->told, {})();
    });
  };
}

void KeyWatch::add_stream(const std::string& id) {
  by_stream_ = cancellable_.enter(id, end_with(request_cancelled));
}

void KeyWatch::on_end(std::function<void()> told) {
  if (state_->why && told) return told();
  state_->told = std::move(told);
}

void cancel_runs(Service& service, const std::string& id) {
  service.cancellable.end_where([&id](const std::string& run) { return run == id; });
}

}  // namespace kvasir::api
