#include "api/http/wait/text_queue.h"

#include <algorithm>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;

TextQueue::TextQueue(int num_threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
}

TextQueue::~TextQueue() {
  stop();
}

base::Status TextQueue::add(std::shared_ptr<Entry> entry) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return base::error(ErrorCode::unavailable, "the server is shutting down");
    if (waiting_.size() >= max_waiting_)
      return Error{.code = ErrorCode::exhausted,
                   .message = fmt::format("{} requests wait for the same thread already; try again later",
                                          waiting_.size()),
                   .reason = "queue_full",
                   .retry_after_s = 1};
    const Turn turn = entry->turn;
    waiting_.push(turn.flow, turn.weight, std::max<std::int64_t>(1, turn.num_bytes), std::move(entry));
  }
  changed_.notify_one();
  return base::ok();
}

void TextQueue::give_up(const std::shared_ptr<Entry>& entry) {
  entry->stop.request_stop();
  const std::lock_guard lock(mutex_);
  waiting_.erase_if([&entry](const auto& other) { return other == entry; });
}

void TextQueue::stop() {
  tenancy::FairQueue<std::shared_ptr<Entry>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped = std::exchange(waiting_, {});
    for (const auto& entry : running_) entry->stop.request_stop();
  }
  changed_.notify_all();
  while (const auto entry = dropped.pop()) (*entry)->drop();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

std::size_t TextQueue::num_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void TextQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || waiting_.size() > 0; });
    if (stopped_) return;
    const std::shared_ptr<Entry> entry = *waiting_.pop();
    running_.push_back(entry);
    lock.unlock();
    entry->run(entry->stop.get_token());
    entry->run = nullptr;  // frees what the closure holds
    lock.lock();
    std::erase(running_, entry);
  }
}

}  // namespace kvasir::api
