#include "ops/cpu/compute_pool.h"

#include <chrono>

#include "base/check.h"

namespace kvasir::ops {
namespace {

constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;

// How long a thread spins before it sleeps: longer than the serial work between two ops, shorter than the
// cost of sleeping and waking.
constexpr std::chrono::microseconds kSpin{40};

thread_local bool inside_piece = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Returns the first value other than `old`. A thread that changes `word` must do so with sequential
// consistency to be certain of waking a sleeper: the library's notify looks for sleepers first, and a weaker
// store may become visible only after that look, when the sleeper has already read the old value.
std::uint32_t await_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) {
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t value = word.load(std::memory_order_acquire);
      if (value != old) return value;
      pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

}  // namespace

ComputePool::ComputePool(int num_threads, Isa isa) : isa_(isa) {
  CHECK(num_threads >= 1, "{} threads", num_threads);
  for (int thread = 1; thread < num_threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ComputePool::~ComputePool() {
  stop_.store(true, std::memory_order_relaxed);
  num_jobs_.fetch_add(1);
  num_jobs_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ComputePool::run_job(const Job& job) {
  CHECK(!inside_piece, "a piece of a job starts a job");
  if (job.num_pieces <= 0) return;
  if (job.num_pieces == 1) {  // the caller's own thread suffices
    job.call(job.function, 0, 0);
    return;
  }
  const std::uint32_t ticket = await_turn();
  job_ = job;
  next_piece_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  num_jobs_.fetch_add(1);
  num_jobs_.notify_all();

  take_pieces(0);

  std::uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (inside != 0) inside = await_change(gate_, inside);
  serving_.store(ticket + 1);
  serving_.notify_all();
}

std::uint32_t ComputePool::await_turn() {
  const std::uint32_t ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t serving = serving_.load(std::memory_order_acquire);
  while (serving != ticket) serving = await_change(serving_, serving);
  return ticket;
}

void ComputePool::work(int thread) {
  std::uint32_t seen = 0;
  for (;;) {
    seen = await_change(num_jobs_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    std::uint32_t gate = gate_.load(std::memory_order_relaxed);
    bool entered = false;
    while ((gate & kOpen) != 0 && !entered) {
      entered =
          gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    if (!entered) continue;
    take_pieces(thread);
    if (gate_.fetch_sub(1) == 1) gate_.notify_all();
  }
}

void ComputePool::take_pieces(int thread) {
  inside_piece = true;
  for (;;) {
    const int piece = next_piece_.fetch_add(1, std::memory_order_relaxed);
    if (piece >= job_.num_pieces) break;
    job_.call(job_.function, piece, thread);
  }
  inside_piece = false;
}

}  // namespace kvasir::ops
