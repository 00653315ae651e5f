#include "tool/lifeline.h"

#include <chrono>
#include <utility>

namespace kvasir::tool {

Lifeline::Lifeline(const boost::asio::any_io_executor& executor, base::Duration timeout)
    : timeout_(timeout), timer_(executor) {
  timer_.expires_after(std::chrono::duration_cast<boost::asio::steady_timer::duration>(timeout));
  // The destructor cancels the wait. If the wait has already completed, the handler still runs without an
  // error code. The handler then sees by `alive` that this object is gone.
  auto alive = std::make_shared<Lifeline*>(this);
  alive_ = alive;
  timer_.async_wait([alive](const boost::system::error_code& cancelled) {
    if (cancelled || *alive == nullptr) return;
    (*alive)->timed_out_ = true;
    (*alive)->finish();
  });
}

Lifeline::~Lifeline() {
  *alive_ = nullptr;
}

base::Error Lifeline::error() const {
  if (timed_out_)
    return base::error(base::ErrorCode::timeout, "no result within {:g} s", base::seconds(timeout_));
  return base::error(base::ErrorCode::cancelled, "given up");
}

void Lifeline::on_end(std::function<void()> ended) {
  ended_ = std::move(ended);
  if (over_ && ended_) std::exchange(ended_, {})();
}

void Lifeline::end() {
  timer_.cancel();
  finish();
}

void Lifeline::finish() {
  if (std::exchange(over_, true)) return;
  if (ended_) std::exchange(ended_, {})();
}

}  // namespace kvasir::tool
