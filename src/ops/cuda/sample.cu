#include "ops/cuda/launch.cuh"
#include "ops/cuda/sample.h"

namespace kvasir::ops::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;
constexpr int kSumBlock = 1024;       // tokens whose weights are summed together, as on the CPU
constexpr int kMaxSumBlocks = 1024;   // so a vocabulary has at most a million tokens
constexpr int kMaxCandidates = 2048;  // most tokens that can be sorted
constexpr int kBins = 1364;           // of weights, by their logarithm: 16 to a power of e, down to e^-85
constexpr float kBinsPerUnit = 16;

struct Largest {
  std::int32_t index;
  float value;
};

struct Candidate {
  float weight;
  std::int32_t id;
};

// What the threads of a row share.
struct Shared {
  Largest warps[kWarps];
  double sums[kMaxSumBlocks];
  int counts[kBins];
  float masses[kBins];
  Candidate candidates[kMaxCandidates];
  int num_candidates;
  int last_bin;
  int token;
  double left;
};

__device__ Largest better(Largest a, Largest b) {
  if (a.value != b.value) return a.value > b.value ? a : b;
  return a.index < b.index ? a : b;
}

__device__ Largest warp_largest(Largest best) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1)
    best = better(best, {__shfl_xor_sync(0xffffffffu, best.index, step),
                         __shfl_xor_sync(0xffffffffu, best.value, step)});
  return best;
}

__device__ Largest find_largest(const float* row, int cols, Shared& shared) {
  Largest best{0x7fffffff, -kInf};
  const auto look_at = [&best](int i, float x) {
    best = better(best, {i, x < kInf ? x : kInf});  // a NaN is not less
  };
  // Four at once where rows begin at a multiple of sixteen bytes.
  const int num_fours = cols % 4 == 0 ? cols / 4 : 0;
#pragma unroll 2
  for (int i = threadIdx.x; i < num_fours; i += kThreads) {
    const float4 four = reinterpret_cast<const float4*>(row)[i];
    look_at(4 * i, four.x);
    look_at(4 * i + 1, four.y);
    look_at(4 * i + 2, four.z);
    look_at(4 * i + 3, four.w);
  }
  for (int i = 4 * num_fours + threadIdx.x; i < cols; i += kThreads) look_at(i, row[i]);
  best = warp_largest(best);
  if (threadIdx.x % 32 == 0) shared.warps[threadIdx.x / 32] = best;
  __syncthreads();
  return warp_largest(shared.warps[threadIdx.x % 32]);
}

// exp(x) for x <= 0, with the same bits as in the CPU's sampler.
__device__ float exp_negative(float x) {
  constexpr float kRound = 12582912.0f;
  if (x < -85.0f) return 0;
  const float shifted = __fadd_rn(__fmul_rn(x, 1.44269504f), kRound);
  const float n = __fsub_rn(shifted, kRound);
  const float r = __fadd_rn(__fsub_rn(x, __fmul_rn(n, 0.693359375f)), __fmul_rn(n, 2.12194440e-4f));
  float p = 1.9875691500e-4f;
  p = __fadd_rn(__fmul_rn(p, r), 1.3981999507e-3f);
  p = __fadd_rn(__fmul_rn(p, r), 8.3334519073e-3f);
  p = __fadd_rn(__fmul_rn(p, r), 4.1665795894e-2f);
  p = __fadd_rn(__fmul_rn(p, r), 1.6666665459e-1f);
  p = __fadd_rn(__fmul_rn(p, r), 5.0000001201e-1f);
  p = __fadd_rn(__fadd_rn(__fmul_rn(__fmul_rn(p, r), r), r), 1.0f);
  const std::int32_t exponent = __float_as_int(shifted) - __float_as_int(kRound) + 127;
  return __fmul_rn(p, __int_as_float(exponent << 23));
}

// A row's weights, relative to the largest.
struct Weights {
  const float* row;
  float max;
  float scale;

  __device__ float operator[](int i) const { return exp_negative(__fmul_rn(__fsub_rn(row[i], max), scale)); }
};

__device__ double warp_sum(double x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sums of each kSumBlock weights, and their total in every thread.
__device__ double sum_blocks(const Weights& weights, int cols, Shared& shared) {
  const int num_blocks = (cols + kSumBlock - 1) / kSumBlock;
  for (int block = threadIdx.x / 32; block < num_blocks; block += kWarps) {
    double sum = 0;
    for (int i = threadIdx.x % 32; i < kSumBlock && block * kSumBlock + i < cols; i += 32)
      sum += weights[block * kSumBlock + i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) shared.sums[block] = sum;
  }
  __syncthreads();
  double total = 0;
  for (int block = 0; block < num_blocks; ++block) total += shared.sums[block];
  return total;
}

// Draws from all tokens, in their order.
__device__ int draw_from_all(const Weights& weights, int cols, double total, double u, Shared& shared) {
  if (threadIdx.x == 0) {
    const int num_blocks = (cols + kSumBlock - 1) / kSumBlock;
    double left = u * total;
    int block = 0;
    while (block + 1 < num_blocks && left >= shared.sums[block]) left -= shared.sums[block++];
    shared.token = block * kSumBlock;
    shared.left = left;
  }
  __syncthreads();
  const int first = shared.token;
  const int count = min(kSumBlock, cols - first);
  for (int i = threadIdx.x; i < count; i += kThreads) shared.candidates[i] = {weights[first + i], first + i};
  __syncthreads();
  if (threadIdx.x == 0) {
    // Rounding may leave a remainder at the end: it belongs to the last token that has any weight.
    double left = shared.left;
    for (int i = 0; i < count && left >= 0; ++i) {
      if (shared.candidates[i].weight <= 0) continue;
      shared.token = shared.candidates[i].id;
      left -= shared.candidates[i].weight;
    }
  }
  __syncthreads();
  return shared.token;
}

__device__ int bin_of(float weight) {
  return min(kBins - 1, static_cast<int>(-__logf(weight) * kBinsPerUnit));
}

// Finds the last bin that may hold a token within the cuts; one bin too many does no harm.
__device__ void find_last_bin(const Weights& weights, int cols, double total, const RowDraw& draw,
                              Shared& shared) {
  const bool by_count = draw.top_k > 0 && draw.top_k < cols;
  for (int i = threadIdx.x; i < kBins; i += kThreads) shared.counts[i] = 0, shared.masses[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float weight = weights[i];
    if (weight < 1e-37f) continue;
    atomicAdd(&shared.counts[bin_of(weight)], 1);
    if (!by_count) atomicAdd(&shared.masses[bin_of(weight)], weight);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int last = 0;
    std::int64_t count = 0;
    double mass = 0;
    const double wanted = draw.top_p * total * 1.001;
    for (; last < kBins - 1; ++last) {
      count += shared.counts[last];
      mass += shared.masses[last];
      if (by_count ? count >= draw.top_k : draw.top_p < 1 && mass >= wanted) break;
    }
    if (draw.min_p > 0) last = min(last, bin_of(fminf(draw.min_p, 1.0f)) + 1);
    shared.last_bin = last;
    shared.num_candidates = 0;
  }
  __syncthreads();
}

// Sorts by weight (the heaviest first; of equals the lower id), or by id alone.
__device__ void sort_candidates(int count, bool by_id, Shared& shared) {
  int size = 32;
  while (size < count) size *= 2;
  for (int i = count + threadIdx.x; i < size; i += kThreads) shared.candidates[i] = {-1, 0x7fffffff};
  const auto before = [by_id](const Candidate& a, const Candidate& b) {
    if (by_id || a.weight == b.weight) return a.id < b.id;
    return a.weight > b.weight;
  };
  for (int width = 2; width <= size; width *= 2) {
    for (int step = width / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < size; i += kThreads) {
        const int other = i ^ step;
        if (other < i) continue;
        const bool up = (i & width) == 0;
        const Candidate a = shared.candidates[i];
        const Candidate b = shared.candidates[other];
        if (before(b, a) == up) shared.candidates[i] = b, shared.candidates[other] = a;
      }
    }
  }
  __syncthreads();
}

// Applies the exact cuts and draws from what is left. Called by one thread.
__device__ int draw_from_sorted(const Candidate* candidates, int count, double total, const RowDraw& draw,
                                int cols) {
  if (draw.top_k > 0 && draw.top_k < cols) {
    count = min(count, draw.top_k);
    total = 0;
    for (int i = 0; i < count; ++i) total += candidates[i].weight;
  }
  if (draw.top_p < 1) {
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      sum += candidates[i].weight;
      if (sum < draw.top_p * total) continue;
      count = i + 1;
      break;
    }
  }
  const float least = fminf(draw.min_p, 1.0f);
  double kept = 0;
  int last = candidates[0].id;
  for (int i = 0; i < count; ++i)
    if (candidates[i].weight >= least) kept += candidates[i].weight;
  double left = draw.u * kept;
  for (int i = 0; i < count && left >= 0; ++i) {
    if (candidates[i].weight < least) continue;
    last = candidates[i].id;
    left -= candidates[i].weight;
  }
  return last;
}

__device__ int draw_cut(const Weights& weights, int cols, double total, const RowDraw& draw, Shared& shared) {
  find_last_bin(weights, cols, total, draw, shared);
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float weight = weights[i];
    if (weight < 1e-37f || bin_of(weight) > shared.last_bin) continue;
    const int place = atomicAdd(&shared.num_candidates, 1);
    if (place < kMaxCandidates) shared.candidates[place] = {weight, i};
  }
  __syncthreads();
  const int count = shared.num_candidates;
  if (count > kMaxCandidates) return -1;
  const bool by_id = !(draw.top_k > 0 && draw.top_k < cols) && draw.top_p >= 1;
  sort_candidates(count, by_id, shared);
  if (threadIdx.x == 0) shared.token = draw_from_sorted(shared.candidates, count, total, draw, cols);
  __syncthreads();
  return shared.token;
}

// One block for each row.
__global__ void __launch_bounds__(kThreads)
    draw_kernel(const float* logits, int cols, const RowDraw* draws, RowDrawn* drawn) {
  extern __shared__ __align__(16) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  release_next();
  wait_for_previous();
  const float* row = logits + static_cast<std::int64_t>(blockIdx.x) * cols;
  const RowDraw draw = draws[blockIdx.x];
  const Largest largest = find_largest(row, cols, shared);
  int token = largest.index;
  if (draw.temperature > 0 && largest.value < kInf && largest.value > -kInf) {
    const Weights weights{row, largest.value, __fdiv_rn(1.0f, fmaxf(draw.temperature, 1e-6f))};
    const double total = sum_blocks(weights, cols, shared);
    const bool cut = (draw.top_k > 0 && draw.top_k < cols) || draw.top_p < 1 || draw.min_p > 0;
    token = cut ? draw_cut(weights, cols, total, draw, shared)
                : draw_from_all(weights, cols, total, draw.u, shared);
  }
  if (threadIdx.x == 0) drawn[blockIdx.x] = {token, largest.value};
}

}  // namespace

void draw_rows(StreamHandle stream, int rows, int cols, const float* logits, const RowDraw* draws,
               RowDrawn* drawn) {
  if (rows == 0) return;
  launch_large<draw_kernel>({dim3(static_cast<unsigned>(rows)), kThreads, sizeof(Shared)}, stream, logits,
                            cols, draws, drawn);
}

}  // namespace kvasir::ops::cuda
