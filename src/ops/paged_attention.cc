#include "ops/paged_attention.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "ops/cpu/cpu_kernels.h"

namespace kvasir::ops {
namespace {

// Rows that a thread takes at a time. They share a partition's keys and values, which stay in its
// second-level cache.
constexpr int kMaxPieceRows = 16;

// The context of a row is cut into partitions. A "part" is the result of the row's heads on one KV head over
// one partition: `heads` maxima, `heads` sums, and `heads` vectors of value_dim.
struct Plan {
  const AttentionArgs& args;
  int num_rows = 0;
  int heads = 0;      // query heads that share a KV head
  int head_dim = 0;   // numbers in a query or a key
  int value_dim = 0;  // numbers in a value or a result
  int max_parts = 0;  // most parts that a row has

  std::int64_t part_floats() const { return static_cast<std::int64_t>(heads) * (value_dim + 2); }
  AttendPart part_at(float* p) const { return {p, p + heads, p + 2 * static_cast<std::int64_t>(heads)}; }
};

struct Row {
  const KvSlice* slice = nullptr;
  TokenRange sees;

  int first_part() const { return sees.first / kPartitionTokens; }
  int end_part() const { return (sees.end - 1) / kPartitionTokens + 1; }
  bool sees_part(int part) const { return part >= first_part() && part < end_part(); }
  TokenRange range_in(int part) const {
    return {std::max(sees.first, part * kPartitionTokens), std::min(sees.end, (part + 1) * kPartitionTokens)};
  }
  std::span<const std::int32_t> blocks_in(int part) const {
    const int first = part * (kPartitionTokens / kBlockTokens);
    const int end = (range_in(part).end + kBlockTokens - 1) / kBlockTokens;
    return slice->blocks.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
  }
};

Row row_at(const Plan& plan, int index) {
  const AttentionArgs& args = plan.args;
  const auto after = std::upper_bound(args.slices.begin(), args.slices.end(), index,
                                      [](int row, const KvSlice& s) { return row < s.first_row; });
  Row row = {.slice = &*(after - 1)};
  const int num_rows = args.mask == Mask::causal ? index - row.slice->first_row + 1 : row.slice->num_rows;
  row.sees.end = row.slice->num_computed + num_rows;
  row.sees.first = args.sliding_window > 0 ? std::max(0, row.sees.end - args.sliding_window) : 0;
  return row;
}

// Whether both rows have the same keys and values in a partition. They do if they belong to one sequence, or
// to sequences that share a prefix.
bool same_blocks(const Row& a, const Row& b, int part) {
  return a.slice == b.slice || std::ranges::equal(a.blocks_in(part), b.blocks_in(part));
}

// Some rows of the batch on one KV head. Uses the scratch memory of one thread.
class Piece {
 public:
  // Floats from one dimension of the queries to the next: an odd number of cache lines, so that consecutive
  // dimensions do not compete for the same places in the cache.
  static std::int64_t q_stride(const Plan& plan, int num_rows) {
    return 16 * ((static_cast<std::int64_t>(num_rows) * plan.heads + 15) / 16 | 1);
  }
  static std::int64_t scratch_floats(const Plan& plan, int num_rows) {
    return kAttendScratchFloats + q_stride(plan, num_rows) * plan.head_dim;
  }

  Piece(const Plan& plan, int first_row, int num_rows, int kv_head, float* scratch)
      : plan_(plan),
        num_rows_(num_rows),
        kv_head_(kv_head),
        scores_(scratch),
        q_(scratch + kAttendScratchFloats),
        q_stride_(q_stride(plan, num_rows)) {
    for (int i = 0; i < num_rows; ++i) {
      rows_[i] = row_at(plan, first_row + i);
      const std::int64_t head =
          static_cast<std::int64_t>(first_row + i) * plan.args.num_heads + kv_head * plan.heads;
      const float* q = plan.args.q.data() + head * plan.head_dim;
      float* out = q_ + i * plan.heads;
      for (int h = 0; h < plan.heads; ++h) {
        for (int d = 0; d < plan.head_dim; ++d) out[d * q_stride_ + h] = q[h * plan.head_dim + d];
      }
    }
  }

  const Row& row(int i) const { return rows_[i]; }
  int first_part() const {
    int first = rows_[0].first_part();
    for (int i = 1; i < num_rows_; ++i) first = std::min(first, rows_[i].first_part());
    return first;
  }
  int end_part() const {
    int end = 0;
    for (int i = 0; i < num_rows_; ++i) end = std::max(end, rows_[i].end_part());
    return end;
  }

  // Computes this part for every row that sees it, and writes row i's part to place(i).
  template <class Place>
  void attend(const CpuKernels& kernels, int part, const Place& place) const {
    for (int i = 0; i < num_rows_;) {
      if (!rows_[i].sees_part(part)) {
        ++i;
        continue;
      }
      AttendRow together[kMaxPieceRows];
      int n = 0;
      do {
        together[n] = {rows_[i + n].range_in(part), place(i + n)};
        ++n;
      } while (i + n < num_rows_ && rows_[i + n].sees_part(part) &&
               same_blocks(rows_[i], rows_[i + n], part));
      // The blocks of any of these rows serve for all: rows of one slice share its list, and the other slices
      // have equal blocks in this partition.
      kernels.attend({.layer = &plan_.args.layer,
                      .kv_head = kv_head_,
                      .blocks = rows_[i].slice->blocks.data(),
                      .rows = together,
                      .num_rows = n,
                      .num_heads = plan_.heads,
                      .q = q_ + static_cast<std::int64_t>(i) * plan_.heads,
                      .q_stride = q_stride_,
                      .scale = plan_.args.scale,
                      .softcap = plan_.args.softcap,
                      .scores = scores_});
      i += n;
    }
  }

 private:
  const Plan& plan_;
  const int num_rows_;
  const int kv_head_;
  float* const scores_;
  float* const q_;
  const std::int64_t q_stride_;
  Row rows_[kMaxPieceRows];
};

void write_out(const Plan& plan, int row, int kv_head, const AttendPart& sum) {
  const std::int64_t head = static_cast<std::int64_t>(row) * plan.args.num_heads + kv_head * plan.heads;
  float* out = plan.args.out.data() + head * plan.value_dim;
  for (int h = 0; h < plan.heads; ++h) {
    const float inverse = 1 / sum.sums[h];
    for (int d = 0; d < plan.value_dim; ++d) {
      const std::int64_t i = static_cast<std::int64_t>(h) * plan.value_dim + d;
      out[i] = sum.out[i] * inverse;
    }
  }
}

// Each thread takes a few rows of one KV head and goes through their partitions in order.
void attend_by_rows(Context& context, const Plan& plan) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const int num_threads = context.pool().num_threads();
  const int num_kv_heads = plan.args.layer.num_kv_heads;
  const int piece_rows = std::clamp(plan.num_rows * num_kv_heads / (num_threads * 4), 1, kMaxPieceRows);
  const int num_pieces = (plan.num_rows + piece_rows - 1) / piece_rows * num_kv_heads;
  const std::int64_t own_floats = Piece::scratch_floats(plan, piece_rows);
  const std::int64_t thread_floats = (own_floats + 2 * piece_rows * plan.part_floats() + 15) / 16 * 16;
  auto* scratch = reinterpret_cast<float*>(
      context.scratch(static_cast<std::size_t>(thread_floats * num_threads) * sizeof(float)));
  context.pool().run(num_pieces, [&](int index, int thread) {
    float* own = scratch + thread * thread_floats;
    const int first_row = index / num_kv_heads * piece_rows;
    const int num_rows = std::min(piece_rows, plan.num_rows - first_row);
    const Piece piece(plan, first_row, num_rows, index % num_kv_heads, own);
    const auto sum_of = [&](int i) { return plan.part_at(own + own_floats + i * plan.part_floats()); };
    const auto next_of = [&](int i) { return sum_of(piece_rows + i); };
    for (int part = piece.first_part(); part < piece.end_part(); ++part) {
      piece.attend(kernels, part,
                   [&](int i) { return part == piece.row(i).first_part() ? sum_of(i) : next_of(i); });
      for (int i = 0; i < num_rows; ++i) {
        if (part > piece.row(i).first_part() && piece.row(i).sees_part(part))
          kernels.join_parts(sum_of(i), next_of(i), plan.heads, plan.value_dim);
      }
    }
    for (int i = 0; i < num_rows; ++i) write_out(plan, first_row + i, index % num_kv_heads, sum_of(i));
  });
}

// For few rows with long contexts. Each thread takes a few of their partitions; then the parts are joined in
// order.
void attend_by_parts(Context& context, const Plan& plan) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const int num_threads = context.pool().num_threads();
  const int num_kv_heads = plan.args.layer.num_kv_heads;
  const int piece_rows = std::min(plan.num_rows, kMaxPieceRows);
  const int num_groups = (plan.num_rows + piece_rows - 1) / piece_rows * num_kv_heads;
  const int piece_parts = std::clamp(num_groups * plan.max_parts / (num_threads * 8), 1, plan.max_parts);
  const int runs = (plan.max_parts + piece_parts - 1) / piece_parts;  // pieces of a group's partitions
  const std::int64_t part_floats = (plan.part_floats() + 15) / 16 * 16;
  const std::int64_t num_units = static_cast<std::int64_t>(plan.num_rows) * num_kv_heads;
  const std::int64_t thread_floats = (Piece::scratch_floats(plan, piece_rows) + 15) / 16 * 16;
  auto* parts = reinterpret_cast<float*>(context.scratch(
      static_cast<std::size_t>(num_units * plan.max_parts * part_floats + thread_floats * num_threads) *
      sizeof(float)));
  float* scratch = parts + num_units * plan.max_parts * part_floats;
  // Part 0 is the first that the row sees.
  const auto part_of = [&](std::int64_t unit, int part) {
    return plan.part_at(parts + (unit * plan.max_parts + part) * part_floats);
  };
  context.pool().run(num_groups * runs, [&](int index, int thread) {
    const int group = index / runs;
    const int kv_head = group % num_kv_heads;
    const int first_row = group / num_kv_heads * piece_rows;
    const int num_rows = std::min(piece_rows, plan.num_rows - first_row);
    const Piece piece(plan, first_row, num_rows, kv_head, scratch + thread * thread_floats);
    const int first_part = piece.first_part() + index % runs * piece_parts;
    for (int part = first_part; part < std::min(first_part + piece_parts, piece.end_part()); ++part) {
      piece.attend(kernels, part, [&](int i) {
        return part_of(static_cast<std::int64_t>(first_row + i) * num_kv_heads + kv_head,
                       part - piece.row(i).first_part());
      });
    }
  });
  context.pool().run(static_cast<int>(num_units), [&](int unit, int /*thread*/) {
    const Row row = row_at(plan, unit / num_kv_heads);
    for (int part = 1; part < row.end_part() - row.first_part(); ++part)
      kernels.join_parts(part_of(unit, 0), part_of(unit, part), plan.heads, plan.value_dim);
    write_out(plan, unit / num_kv_heads, unit % num_kv_heads, part_of(unit, 0));
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
  const int few_units = 4 * context.pool().num_threads();
  const bool few_rows = plan.num_rows <= kMaxPieceRows || plan.num_rows * args.layer.num_kv_heads < few_units;
  if (few_rows && plan.max_parts > 1) {
    attend_by_parts(context, plan);
  } else {
    attend_by_rows(context, plan);
  }
}

}  // namespace kvasir::ops
