#include "ops/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "ops/cpu/split.h"

namespace kvasir::ops {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

// Picks the experts of one row at a time; its memory is reused from row to row.
class Router {
 public:
  explicit Router(const RouterArgs& args)
      : args_(args),
        scores_(static_cast<std::size_t>(args.num_experts)),
        ranks_(scores_.size()),
        order_(scores_.size()),
        groups_(static_cast<std::size_t>(args.num_groups)) {}

  void pick(std::span<const float> logits, std::span<std::int32_t> experts, std::span<float> weights) {
    score(logits);
    ranks_ = scores_;
    for (std::size_t e = 0; e < args_.selection_bias.size(); ++e) ranks_[e] += args_.selection_bias[e];
    if (args_.used_groups < args_.num_groups) leave_groups();
    std::iota(order_.begin(), order_.end(), 0);
    best(order_, ranks_, experts.size());
    float sum = 0;
    for (std::size_t i = 0; i < experts.size(); ++i) {
      experts[i] = order_[i];
      weights[i] = scores_[static_cast<std::size_t>(order_[i])];
      sum += weights[i];
    }
    const float factor = args_.renormalize ? args_.scale / (sum + 1e-20f) : args_.scale;
    for (float& weight : weights) weight *= factor;
  }

 private:
  void score(std::span<const float> logits) {
    if (args_.score == RouterScore::sigmoid) {
      for (std::size_t e = 0; e < scores_.size(); ++e) scores_[e] = 1 / (1 + std::exp(-logits[e]));
      return;
    }
    const float top = *std::max_element(logits.begin(), logits.end());
    float sum = 0;
    for (std::size_t e = 0; e < scores_.size(); ++e) sum += scores_[e] = std::exp(logits[e] - top);
    for (float& score : scores_) score /= sum;
  }

  // Moves the `count` highest-ranked to the front; of equals, the lower index comes first. A NaN counts as
  // the lowest.
  static void best(std::vector<std::int32_t>& order, const std::vector<float>& ranks, std::size_t count) {
    const auto rank = [&](std::int32_t i) {
      const float value = ranks[static_cast<std::size_t>(i)];
      return std::isnan(value) ? kOut : value;
    };
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
        [&](std::int32_t a, std::int32_t b) { return rank(a) > rank(b) || (rank(a) == rank(b) && a < b); });
  }

  // Excludes experts outside the best groups.
  void leave_groups() {
    const std::size_t size = scores_.size() / groups_.size();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      float first = kOut;
      float second = kOut;
      for (std::size_t e = g * size; e < (g + 1) * size; ++e) {
        second = std::max(second, std::min(first, ranks_[e]));
        first = std::max(first, ranks_[e]);
      }
      groups_[g] = args_.group_by_top_two && size > 1 ? first + second : first;
    }
    group_order_.resize(groups_.size());
    std::iota(group_order_.begin(), group_order_.end(), 0);
    best(group_order_, groups_, static_cast<std::size_t>(args_.used_groups));
    for (std::size_t i = static_cast<std::size_t>(args_.used_groups); i < group_order_.size(); ++i) {
      const std::size_t g = static_cast<std::size_t>(group_order_[i]);
      std::fill_n(ranks_.begin() + static_cast<std::ptrdiff_t>(g * size), size, kOut);
    }
  }

  const RouterArgs& args_;
  std::vector<float> scores_;
  std::vector<float> ranks_;  // scores plus selection_bias: experts are picked by rank
  std::vector<std::int32_t> order_;
  std::vector<float> groups_;
  std::vector<std::int32_t> group_order_;
};

// Gives each (row, expert) pair its slot, by a counting sort over the experts.
void assign_slots(int num_experts, ExpertPlan& plan) {
  plan.first_slots.assign(static_cast<std::size_t>(num_experts) + 1, 0);
  for (const std::int32_t expert : plan.experts) ++plan.first_slots[static_cast<std::size_t>(expert) + 1];
  std::partial_sum(plan.first_slots.begin(), plan.first_slots.end(), plan.first_slots.begin());
  std::vector<std::int32_t> next(plan.first_slots.begin(), plan.first_slots.end() - 1);
  plan.slots.resize(plan.experts.size());
  plan.slot_rows.resize(plan.experts.size());
  for (std::size_t i = 0; i < plan.experts.size(); ++i) {
    const std::int32_t slot = next[static_cast<std::size_t>(plan.experts[i])]++;
    plan.slots[i] = slot;
    plan.slot_rows[static_cast<std::size_t>(slot)] =
        static_cast<std::int32_t>(i / static_cast<std::size_t>(plan.num_used));
  }
}

}  // namespace

void route(const RouterArgs& args, std::span<const float> logits, ExpertPlan& plan) {
  CHECK(args.num_used > 0 && args.num_used <= args.num_experts, "{} of {} experts", args.num_used,
        args.num_experts);
  CHECK(args.num_groups > 0 && args.num_experts % args.num_groups == 0 && args.used_groups > 0 &&
            args.num_used <= args.num_experts / args.num_groups * args.used_groups,
        "{} of {} groups", args.used_groups, args.num_groups);
  const auto num_experts = static_cast<std::size_t>(args.num_experts);
  const auto num_used = static_cast<std::size_t>(args.num_used);
  CHECK(logits.size() % num_experts == 0, "{} logits for {} experts", logits.size(), num_experts);
  const std::size_t num_rows = logits.size() / num_experts;
  plan.num_used = args.num_used;
  plan.experts.resize(num_rows * num_used);
  plan.weights.resize(num_rows * num_used);
  Router router(args);
  for (std::size_t r = 0; r < num_rows; ++r) {
    router.pick(logits.subspan(r * num_experts, num_experts),
                std::span(plan.experts).subspan(r * num_used, num_used),
                std::span(plan.weights).subspan(r * num_used, num_used));
  }
  assign_slots(args.num_experts, plan);
}

void gather_rows(Context& context, const ExpertPlan& plan, std::span<const float> rows,
                 std::span<float> slots) {
  const auto num_slots = static_cast<std::int64_t>(plan.slot_rows.size());
  if (num_slots == 0) return;
  const std::int64_t dim = static_cast<std::int64_t>(slots.size()) / num_slots;
  CHECK(static_cast<std::int64_t>(rows.size()) * plan.num_used == num_slots * dim, "{} rows, {} slots",
        rows.size(), slots.size());
  for_ranges(context, num_slots, (64 << 10) / dim, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      std::copy_n(rows.data() + plan.slot_rows[static_cast<std::size_t>(s)] * dim, dim,
                  slots.data() + s * dim);
    }
  });
}

void combine_slots(Context& context, const ExpertPlan& plan, std::span<const float> slots,
                   std::span<float> rows) {
  const auto num_slots = static_cast<std::int64_t>(plan.slot_rows.size());
  if (num_slots == 0) return;
  const std::int64_t dim = static_cast<std::int64_t>(slots.size()) / num_slots;
  const std::int64_t num_rows = num_slots / plan.num_used;
  CHECK(static_cast<std::int64_t>(rows.size()) == num_rows * dim, "{} rows, {} slots", rows.size(),
        slots.size());
  for_ranges(context, num_rows, (32 << 10) / dim, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      float* y = rows.data() + r * dim;
      std::fill_n(y, dim, 0.0f);
      for (std::int64_t i = r * plan.num_used; i < (r + 1) * plan.num_used; ++i) {
        const float weight = plan.weights[static_cast<std::size_t>(i)];
        const float* x = slots.data() + plan.slots[static_cast<std::size_t>(i)] * dim;
        for (std::int64_t d = 0; d < dim; ++d) y[d] += weight * x[d];
      }
    }
  });
}

}  // namespace kvasir::ops
