#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::app {

// The machine view as text, from the events of GET /v1/machine/events. Used by one thread at a time.
class TopView {
 public:
  explicit TopView(std::string url) : url_(std::move(url)) {}

  // Takes the data of one event.
  base::Status take(std::string_view event);
  // Number of events taken. Rates need two.
  int num_looks() const { return num_looks_; }

  struct Size {
    int columns = 100;
    int rows = 0;  // 0: no limit
  };
  // Lines without a newline, each at most as wide as the screen, and no more lines than the screen has.
  std::vector<std::string> frame(Size size) const;

 private:
  using Counts = std::vector<std::uint64_t>;
  // A model's counters at the time of one event.
  struct Sums {
    double at_s = 0;
    double read = 0;     // prompt tokens that were computed
    double written = 0;  // tokens that were generated
    double cached = 0;
    double steps = 0;
    Counts ttft;
    Counts tpot;
  };

  void remember(const boost::json::value& model, double at_s);
  std::string model_line(const boost::json::value& model) const;
  std::string queue_line() const;
  std::string refusal_line() const;
  std::vector<std::string> sequence_lines() const;
  // In seconds; negative if there were no observations.
  double percentile(const Counts& before, const Counts& now, double part) const;
  std::string latencies(const Counts& before, const Counts& now) const;

  const std::string url_;
  std::string version_;
  std::vector<double> bounds_;
  boost::json::value look_;
  int num_looks_ = 0;
  std::map<std::string, std::deque<Sums>> history_;  // by model, oldest first
};

}  // namespace kvasir::app
