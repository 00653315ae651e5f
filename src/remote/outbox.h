#pragma once

#include <kvasir.pb.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::remote {

// The messages of a gateway to a worker that are not written yet. One message at a time is on its way;
// everything added meanwhile goes into the next one. Only this folder includes this header.
class Outbox {
 public:
  void add(proto::Generate&& request) { requests_.push_back(std::move(request)); }
  void abort(std::uint64_t stream) { aborts_.push_back(stream); }
  void give_credit(std::uint64_t stream, int tokens) {
    proto::Credit& credit = *rest().add_credit();
    credit.set_stream(stream);
    credit.set_tokens(tokens);
  }
  void watch_blocks(bool wanted) { rest().set_watch_blocks(wanted); }
  void ask_activity(std::uint64_t after_step) { rest().set_activity_after(after_step); }

  bool empty() const { return requests_.empty() && aborts_.empty() && !has_rest_; }
  // Takes the next message. An abort never overtakes its request.
  proto::ToWorker next() {
    proto::ToWorker message = std::exchange(rest_, {});
    has_rest_ = false;
    std::size_t bytes = 0;
    while (!requests_.empty() && bytes < kRequestBytes) {
      bytes += requests_.front().ByteSizeLong();
      *message.add_generate() = std::move(requests_.front());
      requests_.pop_front();
    }
    if (requests_.empty()) {
      message.mutable_abort()->Add(aborts_.begin(), aborts_.end());
      aborts_.clear();
    }
    return message;
  }

 private:
  // A message takes no more requests after this many bytes.
  static constexpr std::size_t kRequestBytes = std::size_t{4} << 20;

  proto::ToWorker& rest() {
    has_rest_ = true;
    return rest_;
  }

  std::deque<proto::Generate> requests_;
  std::vector<std::uint64_t> aborts_;
  proto::ToWorker rest_;
  bool has_rest_ = false;
};

}  // namespace kvasir::remote
