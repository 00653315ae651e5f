#include "api/http/key_watch.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace kvasir::api {

KeyWatch::KeyWatch(Service& service, Exchange& exchange)
    : run_(service.directory.runs().enter(exchange.caller.key,
                                          [state = state_, executor = exchange.responder.executor()] {
                                            boost::asio::post(executor, [state] {
                                              state->ended = true;
                                              if (state->told) std::exchange(state->told, {})();
                                            });
                                          })) {}

KeyWatch::~KeyWatch() {
  state_->told = {};
}

void KeyWatch::on_end(std::function<void()> told) {
  if (state_->ended && told) return told();
  state_->told = std::move(told);
}

base::Error key_ended() {
  return {.code = base::ErrorCode::unauthenticated,
          .message = "the API key was revoked or has expired while the request ran",
          .reason = "key_revoked"};
}

}  // namespace kvasir::api
