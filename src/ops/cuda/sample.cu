#include "ops/cuda/launch.cuh"
#include "ops/cuda/sample.h"
#include "ops/draw/draw_row.h"

namespace kvasir::ops::cuda {
namespace {

// Scratch memory that only BlockTeam uses.
struct TeamScratch {
  double sums[32];
  Largest largest[32];
};

// A thread block as a team. The order in which a sum is added depends only on kThreads.
template <int kThreads>
class BlockTeam {
 public:
  __device__ explicit BlockTeam(TeamScratch& scratch) : scratch_(scratch) {}

  __device__ static int rank() { return threadIdx.x; }
  __device__ static constexpr int size() { return kThreads; }
  __device__ static int group() { return threadIdx.x / 32; }
  __device__ static constexpr int num_groups() { return kThreads / 32; }
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static constexpr int num_lanes() { return 32; }

  __device__ void barrier() const { __syncthreads(); }
  __device__ void add(std::uint32_t* to, std::uint32_t x) const { atomicAdd(to, x); }
  __device__ void add(float* to, float x) const { atomicAdd(to, x); }
  __device__ std::uint32_t take(std::uint32_t* counter) const { return atomicAdd(counter, 1u); }
  __device__ void lower(std::uint32_t* to, std::uint32_t x) const { atomicMin(to, x); }
  __device__ void raise(std::uint32_t* to, std::uint32_t x) const { atomicMax(to, x); }
  template <class F>
  __device__ void change(std::uint32_t* word, const F& f) const {
    std::uint32_t seen = *word;
    for (;;) {
      const std::uint32_t before = atomicCAS(word, seen, f(seen));
      if (before == seen) return;
      seen = before;
    }
  }

  __device__ double group_sum(double x) const {
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
  }
  __device__ double sum(double x) const {
    x = group_sum(x);
    __syncthreads();
    if (lane() == 0) scratch_.sums[group()] = x;
    __syncthreads();
    return group_sum(lane() < num_groups() ? scratch_.sums[lane()] : 0.0);
  }
  // The sum over the threads before this one.
  __device__ double exclusive_sum(double x) const {
    const double through = inclusive_in_group(x);
    __syncthreads();
    if (lane() == 31) scratch_.sums[group()] = through;
    __syncthreads();
    const double groups = inclusive_in_group(lane() < num_groups() ? scratch_.sums[lane()] : 0.0);
    const double before_group = __shfl_sync(0xffffffffu, groups, group() > 0 ? group() - 1 : 0);
    const double before_lane = __shfl_up_sync(0xffffffffu, through, 1);
    return (group() > 0 ? before_group : 0.0) + (lane() > 0 ? before_lane : 0.0);
  }
  __device__ Largest largest(Largest x) const {
    x = largest_in_group(x);
    __syncthreads();
    if (lane() == 0) scratch_.largest[group()] = x;
    __syncthreads();
    return largest_in_group(lane() < num_groups() ? scratch_.largest[lane()] : Largest{});
  }

 private:
  __device__ static double inclusive_in_group(double x) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const double other = __shfl_up_sync(0xffffffffu, x, step);
      if (lane() >= step) x += other;
    }
    return x;
  }
  __device__ static Largest largest_in_group(Largest x) {
#pragma unroll
    for (int step = 16; step > 0; step >>= 1)
      x = better(x,
                 {__shfl_xor_sync(0xffffffffu, x.index, step), __shfl_xor_sync(0xffffffffu, x.value, step)});
    return x;
  }

  TeamScratch& scratch_;
};

struct Shared {
  TeamScratch team;
  DrawScratch draw;
};

// One block for each row.
template <int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) draw_kernel(const DrawArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  release_next();
  wait_for_previous();
  BlockTeam<kThreads> team(shared.team);
  draw_row(team, args, static_cast<int>(blockIdx.x), shared.draw);
}

}  // namespace

void draw_rows(StreamHandle stream, int rows, const DrawArgs& args) {
  if (rows == 0) return;
  const dim3 blocks(static_cast<unsigned>(rows));
  // If there are more rows than multiprocessors, two rows share one.
  if (rows <= num_multiprocessors())
    launch_large<draw_kernel<1024, 1>>({blocks, 1024, sizeof(Shared)}, stream, args);
  else
    launch_large<draw_kernel<512, 2>>({blocks, 512, sizeof(Shared)}, stream, args);
}

}  // namespace kvasir::ops::cuda
