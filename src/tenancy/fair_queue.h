#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "tenancy/tenant.h"

namespace kvasir::tenancy {

// First come, first served within a tenant. Between tenants it is start-time fair queueing: over time each
// tenant with waiting items gets its weight's share of the cost served. A tenant that floods the queue delays
// only itself, and a tenant that was idle saves nothing up. Owned and touched by one thread.
template <class T>
class FairQueue {
 public:
  void push(const Tenant& tenant, std::int64_t cost, T item) {
    CHECK(cost > 0 && tenant.weight > 0, "cost {}, weight {}", cost, tenant.weight);
    Line& line = lines_[tenant.name];
    const double start = std::max(now_, line.finish);
    line.finish = start + static_cast<double>(cost) / tenant.weight;
    line.waiting.push_back({start, num_pushed_++, std::move(item)});
    ++size_;
  }

  // The next item; absent if the queue is empty. O(tenants).
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
    // A tenant is forgotten unless it waits or has had more than its share.
    std::erase_if(lines_, [&](const auto& line) {
      return line.second.waiting.empty() && (size_ == 0 || line.second.finish <= now_);
    });
    return std::move(next.item);
  }

  std::size_t size() const { return size_; }
  std::size_t num_tenants() const { return lines_.size(); }

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
