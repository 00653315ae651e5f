#include "seam/token_stream.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

namespace kvasir::seam {

namespace asio = boost::asio;

namespace {

// The longest wait, so that the deadline stays inside the clock's range.
constexpr std::chrono::hours kLongestWait{24};

// Registers the timer of a waiting coroutine. The coroutine owns it, so that a stream may outlive the context
// of its reader.
class Waiting {
 public:
  Waiting(asio::steady_timer*& slot, asio::steady_timer& timer) : slot_(slot) { slot_ = &timer; }
  ~Waiting() { slot_ = nullptr; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  asio::steady_timer*& slot_;
};

}  // namespace

TokenStream::TokenStream(asio::any_io_executor reader, std::shared_ptr<Feedback> feedback)
    : reader_(std::move(reader)), feedback_(std::move(feedback)) {}

void TokenStream::send(std::vector<Delivery> deliveries) {
  while (!deliveries.empty()) {
    const asio::any_io_executor reader = deliveries.front().stream->reader_;
    const auto rest = std::stable_partition(deliveries.begin(), deliveries.end(),
                                            [&](const Delivery& d) { return d.stream->reader_ == reader; });
    std::vector<Delivery> others(std::make_move_iterator(rest), std::make_move_iterator(deliveries.end()));
    deliveries.erase(rest, deliveries.end());
    for (Delivery& d : deliveries) d.stream->backlog_ += static_cast<int>(d.event.tokens.size());
    asio::post(reader, [batch = std::move(deliveries)]() mutable {
      for (Delivery& d : batch) d.stream->accept(std::move(d.event));
    });
    deliveries = std::move(others);
  }
}

void TokenStream::accept(wire::TokenEvent event) {
  if (!pending_) {
    pending_ = std::move(event);
  } else {
    std::move(event.tokens.begin(), event.tokens.end(), std::back_inserter(pending_->tokens));
    std::move(event.prompt.begin(), event.prompt.end(), std::back_inserter(pending_->prompt));
    std::move(event.prefill.begin(), event.prefill.end(), std::back_inserter(pending_->prefill));
    pending_->finish = event.finish;
    if (!event.error) pending_->usage = event.usage;  // an error event has no usage of the events before it
    pending_->error = std::move(event.error);
  }
  if (wake_ != nullptr) wake_->cancel();
  if (on_event_) on_event_();
}

std::optional<wire::TokenEvent> TokenStream::take() {
  if (!pending_) return std::nullopt;
  std::optional<wire::TokenEvent> event = std::exchange(pending_, std::nullopt);
  ended_ = event->last();
  const int num_tokens = static_cast<int>(event->tokens.size());
  backlog_ -= num_tokens;
  if (feedback_ && num_tokens > 0) feedback_->on_taken(num_tokens);
  return event;
}

asio::awaitable<std::optional<wire::TokenEvent>> TokenStream::next(std::chrono::nanoseconds wait) {
  const auto self = shared_from_this();
  if (ended_) co_return std::nullopt;
  if (!pending_) {
    // No event can arrive between this line and the wait, since both run on the reader's executor.
    asio::steady_timer timer(reader_, std::min<std::chrono::nanoseconds>(wait, kLongestWait));
    const Waiting waiting(wake_, timer);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return take();
}

}  // namespace kvasir::seam
