#pragma once

#include <memory>

#include "ops/draw/draw_row.h"

// Draws on the host with the devices' code: the oracle of the devices' tests, also used by tests without a
// device.
namespace kvasir::ops {

class HostTeam {
 public:
  static constexpr int rank() { return 0; }
  static constexpr int size() { return 1; }
  static constexpr int group() { return 0; }
  static constexpr int num_groups() { return 1; }
  static constexpr int lane() { return 0; }
  static constexpr int num_lanes() { return 1; }

  void barrier() const {}
  void add(std::uint32_t* to, std::uint32_t x) const { *to += x; }
  void add(float* to, float x) const { *to += x; }
  std::uint32_t take(std::uint32_t* counter) const { return (*counter)++; }
  void lower(std::uint32_t* to, std::uint32_t x) const { *to = x < *to ? x : *to; }
  void raise(std::uint32_t* to, std::uint32_t x) const { *to = x > *to ? x : *to; }
  template <class F>
  void change(std::uint32_t* word, const F& f) const {
    *word = f(*word);
  }
  double sum(double x) const { return x; }
  double group_sum(double x) const { return x; }
  double exclusive_sum(double /*x*/) const { return 0; }
  Largest largest(Largest x) const { return x; }
};

inline void draw_rows_on_host(int rows, const DrawArgs& args) {
  const auto scratch = std::make_unique<DrawScratch>();
  HostTeam team;
  for (int r = 0; r < rows; ++r) draw_row(team, args, r, *scratch);
}

}  // namespace kvasir::ops
