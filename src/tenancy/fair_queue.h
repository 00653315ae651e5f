#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace kvasir::tenancy {

// Serves items of one flow in their order, and shares between flows by start-time fair queueing: over time,
// each flow with waiting items gets its weight's share of the cost served. A flow that floods delays only
// itself, and an idle flow saves nothing up. Owned and touched by one thread.
template <class T>
class FairQueue {
 public:
  void push(const std::string& flow, int weight, std::int64_t cost, T item) {
    CHECK(cost > 0 && weight > 0, "cost {}, weight {}", cost, weight);
    Line& line = lines_[flow];
    const double start = std::max(now_, line.finish);
    line.finish = start + static_cast<double>(cost) / weight;
    line.waiting.push_back({start, num_pushed_++, std::move(item)});
    ++size_;
  }

  // Takes the item whose turn it is; nothing if all lines are empty. O(flows).
  std::optional<T> pop() {
    auto best = lines_.end();
    for (auto it = lines_.begin(); it != lines_.end(); ++it)
      if (!it->second.waiting.empty() && (best == lines_.end() || turn(it->second) < turn(best->second)))
        best = it;
    if (best == lines_.end()) return std::nullopt;
    Waiting next = std::move(best->second.waiting.front());
    best->second.waiting.pop_front();
    --size_;
    now_ = next.start;
    // A flow is remembered only while it has waiting items or is ahead of its share.
    std::erase_if(lines_, [&](const auto& line) {
      return line.second.waiting.empty() && (size_ == 0 || line.second.finish <= now_);
    });
    return std::move(next.item);
  }

  // Drops the items that `is_unwanted` accepts. Their cost stays charged.
  template <class IsUnwanted>
  void erase_if(const IsUnwanted& is_unwanted) {
    for (auto& [flow, line] : lines_)
      size_ -= std::erase_if(line.waiting, [&](const Waiting& w) { return is_unwanted(w.item); });
  }

  std::size_t size() const { return size_; }
  std::size_t num_flows() const { return lines_.size(); }

 private:
  struct Waiting {
    double start;  // virtual time: cost served per unit of weight
    std::uint64_t order;
    T item;
  };
  struct Line {
    std::deque<Waiting> waiting;
    double finish = 0;
  };

  static std::pair<double, std::uint64_t> turn(const Line& line) {
    return {line.waiting.front().start, line.waiting.front().order};
  }

  std::map<std::string, Line> lines_;
  double now_ = 0;
  std::uint64_t num_pushed_ = 0;
  std::size_t size_ = 0;
};

}  // namespace kvasir::tenancy
