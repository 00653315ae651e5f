#include "api/answer/vectors/embedding_task.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace kvasir::api {

namespace asio = boost::asio;
using Vectors = base::Result<std::vector<float>>;

namespace {

struct State {
  std::optional<Vectors> result;  // written once, before the post that sets `ready`
  // Touched on the executor only.
  bool ready = false;
  asio::steady_timer* wake = nullptr;  // null after the wait has ended
};

}  // namespace

asio::awaitable<Vectors> embed(net::Responder& responder, seam::EmbedClient& client,
                               std::vector<std::vector<TokenId>> sequences, std::function<void()> on_queued) {
  asio::steady_timer wake(responder.executor(), asio::steady_timer::time_point::max());
  const auto state = std::make_shared<State>();
  state->wake = &wake;
  std::stop_source stop;
  seam::EmbedClient::Done done = [state, executor = responder.executor()](Vectors vectors) {
    state->result.emplace(std::move(vectors));
    asio::post(executor, [state] {
      state->ready = true;
      if (state->wake != nullptr) state->wake->cancel();
    });
  };
  wire::EmbedRequest request;
  request.sequences = std::move(sequences);
  request.stop = stop.get_token();
  base::Status queued = client.embed(std::move(request), std::move(done));
  if (!queued.ok()) co_return std::move(queued).error();
  on_queued();
  responder.on_disconnect([&stop, &wake] {
    stop.request_stop();
    wake.cancel();
  });
  while (!state->ready && !stop.stop_requested()) {
    boost::system::error_code woken;
    co_await wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  responder.on_disconnect({});
  state->wake = nullptr;
  if (!state->ready) co_return base::error(base::ErrorCode::cancelled, "the client left");
  co_return std::move(*state->result);
}

}  // namespace kvasir::api
