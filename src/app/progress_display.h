#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "hub/pull.h"

namespace kvasir::app {

// Shows the progress of pulls: on a terminal one line per model that is redrawn in place, elsewhere a plain
// line from time to time. Thread-safe.
class ProgressDisplay final : public hub::ProgressSink {
 public:
  struct Options {
    bool terminal = false;
    int width = 80;
    std::function<void(std::string_view)> write;
    const base::Clock* clock = nullptr;
  };
  explicit ProgressDisplay(Options options);
  // The drawn lines stay on the terminal, and the cursor moves to a new line.
  ~ProgressDisplay() override;

  void bytes(std::string_view model, std::uint64_t done, std::uint64_t total) override;
  void note(std::string_view model, std::string_view sentence) override;

 private:
  struct Sample {
    base::TimePoint at;
    std::uint64_t done = 0;
  };
  struct Row {
    std::string model;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    std::deque<Sample> samples;  // of the last few seconds, to compute the rate
    base::TimePoint printed{};
  };

  Row& row_of(std::string_view model);                      // mutex_ held
  void draw();                                              // mutex_ held
  std::string line_of(const Row& row) const;                // mutex_ held
  std::string bar_of(const Row& row, int num_cells) const;  // mutex_ held

  const Options options_;
  std::mutex mutex_;
  std::vector<Row> rows_;       // guarded by mutex_
  int num_drawn_ = 0;           // lines on the terminal; guarded by mutex_
  base::TimePoint drawn_at_{};  // guarded by mutex_
};

// Options for stderr, which may be a terminal or a file.
ProgressDisplay::Options stderr_progress();

}  // namespace kvasir::app
