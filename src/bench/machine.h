#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/cpu/compute_pool.h"

namespace kvasir::bench {

enum class Arithmetic { int8, bf16, f32 };
std::string_view name_of(Arithmetic arithmetic);

// The speed of one instruction on all threads at once. A multiplication and its addition count as two
// operations.
struct Peak {
  Arithmetic arithmetic = Arithmetic::f32;
  std::string instruction;
  double ops_per_s = 0;
};

// The measured limits of the machine.
struct Machine {
  std::string cpu;
  int num_threads = 0;
  std::int64_t cache_bytes = 0;  // of the last cache level; 0: unknown
  double read_bytes_per_s = 0;   // from memory, by all threads together
  std::vector<Peak> peaks;       // one for every instruction that this CPU has

  // Returns the speed of the fastest instruction of one kind, or 0 if there is none.
  double best(Arithmetic arithmetic) const;
  const Peak* fastest() const;
};

// Takes a few seconds. `on_progress` gets the name of each measurement as it begins.
Machine measure_machine(ops::ComputePool& pool, const std::function<void(std::string_view)>& on_progress);

// One instruction, repeated on registers only. `run` runs `num_loops` loops and returns the number of
// operations. The CPU must have the instruction; instructions() lists only those that it has.
struct Instruction {
  Arithmetic arithmetic;
  std::string_view name;
  double (*run)(std::int64_t num_loops);
};
std::vector<Instruction> instructions();

}  // namespace kvasir::bench
