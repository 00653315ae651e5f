#include "ops/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "ops/cpu_kernels.h"

namespace kvasir::ops {
namespace {

// The heads of one row that share a KV head: the unit of work. The context of a unit is cut into partitions,
// and a partition's result ("part") is `heads` maxima, sums, and vectors of value_dim.
struct Plan {
  const AttentionArgs& args;
  int num_rows = 0;
  int heads = 0;      // query heads of a KV head
  int head_dim = 0;   // of a query and a key
  int value_dim = 0;  // of a value and of what comes out
  int max_parts = 0;  // of any unit

  int num_units() const { return num_rows * args.layer.num_kv_heads; }
  std::int64_t part_floats() const { return static_cast<std::int64_t>(heads) * (value_dim + 2); }
  std::int64_t score_floats() const { return static_cast<std::int64_t>(heads) * kPartitionTokens; }
};

struct Part {
  float* maxima;
  float* sums;
  float* out;
};

Part part_at(const Plan& plan, float* p) {
  return {p, p + plan.heads, p + 2 * static_cast<std::int64_t>(plan.heads)};
}

struct Unit {
  const KvSlice* slice;
  int row;  // of the batch
  int kv_head;
  int first;  // first token that the row sees
  int end;    // one past its own position

  int first_part() const { return first / kPartitionTokens; }
  int num_parts() const { return (end - 1) / kPartitionTokens - first_part() + 1; }
};

Unit unit_at(const Plan& plan, int index) {
  const AttentionArgs& args = plan.args;
  Unit unit;
  unit.row = index / args.layer.num_kv_heads;
  unit.kv_head = index % args.layer.num_kv_heads;
  const auto after = std::upper_bound(args.slices.begin(), args.slices.end(), unit.row,
                                      [](int row, const KvSlice& s) { return row < s.first_row; });
  unit.slice = &*(after - 1);
  const int num_rows =
      args.mask == Mask::causal ? unit.row - unit.slice->first_row + 1 : unit.slice->num_rows;
  unit.end = unit.slice->num_computed + num_rows;
  unit.first = args.sliding_window > 0 ? std::max(0, unit.end - args.sliding_window) : 0;
  return unit;
}

void attend_part(const CpuKernels& kernels, const Plan& plan, const Unit& unit, int part, float* scores,
                 const Part& out) {
  const AttentionArgs& args = plan.args;
  const int begin = (unit.first_part() + part) * kPartitionTokens;
  const std::int64_t head = static_cast<std::int64_t>(unit.row) * args.num_heads + unit.kv_head * plan.heads;
  kernels.attend({.layer = &args.layer,
                  .kv_head = unit.kv_head,
                  .blocks = unit.slice->blocks.data(),
                  .first = std::max(unit.first, begin),
                  .end = std::min(unit.end, begin + kPartitionTokens),
                  .q = args.q.data() + head * plan.head_dim,
                  .num_heads = plan.heads,
                  .scale = args.scale,
                  .softcap = args.softcap,
                  .scores = scores,
                  .maxima = out.maxima,
                  .sums = out.sums,
                  .out = out.out});
}

// Joins `next` to `sum`; both are relative to their own maximum.
void join(const Plan& plan, const Part& sum, const Part& next) {
  for (int h = 0; h < plan.heads; ++h) {
    const float maximum = std::max(sum.maxima[h], next.maxima[h]);
    const float a = std::exp(sum.maxima[h] - maximum);
    const float b = std::exp(next.maxima[h] - maximum);
    sum.maxima[h] = maximum;
    sum.sums[h] = sum.sums[h] * a + next.sums[h] * b;
    float* x = sum.out + static_cast<std::int64_t>(h) * plan.value_dim;
    const float* y = next.out + static_cast<std::int64_t>(h) * plan.value_dim;
    for (int d = 0; d < plan.value_dim; ++d) x[d] = x[d] * a + y[d] * b;
  }
}

void write_out(const Plan& plan, const Unit& unit, const Part& sum) {
  const std::int64_t head =
      static_cast<std::int64_t>(unit.row) * plan.args.num_heads + unit.kv_head * plan.heads;
  float* out = plan.args.out.data() + head * plan.value_dim;
  for (int h = 0; h < plan.heads; ++h) {
    const float inverse = 1 / sum.sums[h];
    for (int d = 0; d < plan.value_dim; ++d) {
      const std::int64_t i = static_cast<std::int64_t>(h) * plan.value_dim + d;
      out[i] = sum.out[i] * inverse;
    }
  }
}

// Rows that a thread takes at a time: a partition's keys and values stay in its second cache for all of them.
constexpr int kRowsAPiece = 16;

// A thread takes a few rows of one KV head and goes through their partitions in order.
void attend_by_units(Context& context, const Plan& plan) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const int num_threads = context.pool().num_threads();
  const int num_kv_heads = plan.args.layer.num_kv_heads;
  const int rows_a_piece = std::clamp(plan.num_rows * num_kv_heads / (num_threads * 4), 1, kRowsAPiece);
  const int num_pieces = (plan.num_rows + rows_a_piece - 1) / rows_a_piece * num_kv_heads;
  const std::int64_t thread_floats =
      (plan.score_floats() + (rows_a_piece + 1) * plan.part_floats() + 15) / 16 * 16;
  auto* scratch = reinterpret_cast<float*>(
      context.scratch(static_cast<std::size_t>(thread_floats * num_threads) * sizeof(float)));
  context.pool().run(num_pieces, [&](int piece, int thread) {
    float* scores = scratch + thread * thread_floats;
    float* parts = scores + plan.score_floats();
    const Part next = part_at(plan, parts + rows_a_piece * plan.part_floats());
    const int first_row = piece / num_kv_heads * rows_a_piece;
    const int num_rows = std::min(rows_a_piece, plan.num_rows - first_row);
    Unit units[kRowsAPiece];
    int first_part = std::numeric_limits<int>::max();
    int end_part = 0;
    for (int i = 0; i < num_rows; ++i) {
      units[i] = unit_at(plan, (first_row + i) * num_kv_heads + piece % num_kv_heads);
      first_part = std::min(first_part, units[i].first_part());
      end_part = std::max(end_part, units[i].first_part() + units[i].num_parts());
    }
    for (int part = first_part; part < end_part; ++part) {
      for (int i = 0; i < num_rows; ++i) {
        const int own = part - units[i].first_part();
        if (own < 0 || own >= units[i].num_parts()) continue;
        const Part sum = part_at(plan, parts + i * plan.part_floats());
        attend_part(kernels, plan, units[i], own, scores, own == 0 ? sum : next);
        if (own > 0) join(plan, sum, next);
      }
    }
    for (int i = 0; i < num_rows; ++i) {
      write_out(plan, units[i], part_at(plan, parts + i * plan.part_floats()));
    }
  });
}

// Few units with long contexts: a thread takes one partition of one unit; then they are joined in order.
void attend_by_parts(Context& context, const Plan& plan) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const std::int64_t num_parts = static_cast<std::int64_t>(plan.num_units()) * plan.max_parts;
  const std::int64_t part_floats = (plan.part_floats() + 15) / 16 * 16;
  const std::int64_t score_floats = (plan.score_floats() + 15) / 16 * 16;
  auto* parts = reinterpret_cast<float*>(context.scratch(
      static_cast<std::size_t>(num_parts * part_floats + score_floats * context.pool().num_threads()) *
      sizeof(float)));
  float* scores = parts + num_parts * part_floats;
  context.pool().run(static_cast<int>(num_parts), [&](int piece, int thread) {
    const Unit unit = unit_at(plan, piece / plan.max_parts);
    const int part = piece % plan.max_parts;
    if (part >= unit.num_parts()) return;
    attend_part(kernels, plan, unit, part, scores + thread * score_floats,
                part_at(plan, parts + piece * part_floats));
  });
  context.pool().run(plan.num_units(), [&](int i, int /*thread*/) {
    const Unit unit = unit_at(plan, i);
    float* first = parts + static_cast<std::int64_t>(i) * plan.max_parts * part_floats;
    for (int part = 1; part < unit.num_parts(); ++part) {
      join(plan, part_at(plan, first), part_at(plan, first + part * part_floats));
    }
    write_out(plan, unit, part_at(plan, first));
  });
}

Plan make_plan(const AttentionArgs& args) {
  const KvLayer& layer = args.layer;
  CHECK(layer.num_kv_heads > 0 && args.num_heads > 0 && args.num_heads % layer.num_kv_heads == 0,
        "{} heads on {} KV heads", args.num_heads, layer.num_kv_heads);
  Plan plan = {.args = args,
               .heads = args.num_heads / layer.num_kv_heads,
               .head_dim = layer.head_dim,
               .value_dim = layer.value_dim()};
  for (const KvSlice& slice : args.slices) {
    CHECK(slice.first_row == plan.num_rows && slice.num_rows >= 0, "a slice begins at row {}, not {}",
          slice.first_row, plan.num_rows);
    const int end = slice.num_computed + slice.num_rows;
    CHECK(end <= static_cast<int>(slice.blocks.size()) * kBlockTokens, "{} tokens in {} blocks", end,
          slice.blocks.size());
    plan.num_rows += slice.num_rows;
    plan.max_parts = std::max(plan.max_parts, (end + kPartitionTokens - 1) / kPartitionTokens);
  }
  CHECK(args.sliding_window == 0 || (layer.latent_dim == 0 && args.mask == Mask::causal), "a window of {}",
        args.sliding_window);
  CHECK(layer.latent_dim <= layer.head_dim, "values of {} in keys of {}", layer.latent_dim, layer.head_dim);
  const auto num_heads = static_cast<std::size_t>(plan.num_rows) * static_cast<std::size_t>(args.num_heads);
  CHECK(args.q.size() == num_heads * static_cast<std::size_t>(plan.head_dim) &&
            args.out.size() == num_heads * static_cast<std::size_t>(plan.value_dim),
        "{} rows in {} and {}", plan.num_rows, args.q.size(), args.out.size());
  return plan;
}

}  // namespace

void paged_attention(Context& context, const AttentionArgs& args) {
  const Plan plan = make_plan(args);
  if (plan.num_rows == 0) return;
  const int num_threads = context.pool().num_threads();
  if (num_threads > 1 && plan.max_parts > 1 && plan.num_units() < 4 * num_threads) {
    attend_by_parts(context, plan);
  } else {
    attend_by_units(context, plan);
  }
}

}  // namespace kvasir::ops
