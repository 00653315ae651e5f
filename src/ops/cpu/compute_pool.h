#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "ops/cpu/isa.h"

namespace kvasir::ops {

// The process's compute threads. A job is `num_pieces` calls, which may run in any order on any thread of the
// pool. The caller is one of the threads, so a pool with `num_threads` = 1 starts none.
//
// Several engine threads share one pool. A job takes the whole pool, and callers get their turns in the order
// in which they asked, so models never oversubscribe the cores and none starves. Threads without work spin
// for some tens of microseconds (the gap between two ops of a step) and then sleep.
class ComputePool {
 public:
  // Ops on this pool use `isa`, which is one of supported_isas().
  explicit ComputePool(int num_threads, Isa isa = best_isa());
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }
  Isa isa() const { return isa_; }

  // Calls f(piece, thread) for every piece in [0, num_pieces) and returns when all are done. `thread` is in
  // [0, num_threads), and no two calls run at once with the same one, so f may use it to find a thread's own
  // scratch. f must not throw and must not call run. Any thread may call run, except from inside f.
  template <class F>
  void run(int num_pieces, F&& f) {
    using Fn = std::remove_reference_t<F>;
    run_job({num_pieces, const_cast<void*>(static_cast<const void*>(&f)),
             [](void* fn, int piece, int thread) { (*static_cast<Fn*>(fn))(piece, thread); }});
  }

 private:
  struct Job {
    int num_pieces = 0;
    void* function = nullptr;
    void (*call)(void* function, int piece, int thread) = nullptr;
  };

  void run_job(const Job& job);
  std::uint32_t await_turn();
  void work(int thread);
  void take_pieces(int thread);

  // A caller takes the next ticket and waits until `serving_` equals it.
  alignas(64) std::atomic<std::uint32_t> next_ticket_{0};
  alignas(64) std::atomic<std::uint32_t> serving_{0};

  // The highest bit says that the current job is open; the rest counts the workers inside it. A worker enters
  // only while the job is open, and the caller leaves only when all workers are out, so a worker that wakes
  // late never touches a finished job.
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  alignas(64) std::atomic<std::uint32_t> num_jobs_{0};  // what idle workers watch and sleep on
  alignas(64) std::atomic<int> next_piece_{0};
  Job job_;  // written by the caller whose turn it is, before it opens the gate
  std::atomic<bool> stop_{false};
  const Isa isa_;
  std::vector<std::thread> workers_;
};

}  // namespace kvasir::ops
