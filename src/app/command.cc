#include "app/command.h"

#include <fmt/format.h>

#include <cstdio>

namespace kvasir::app {

void report(Outcome& outcome, const base::Error& error) {
  fmt::print(stderr, "kvasir: {}\n", error.message);
  outcome.status = kFailure;
}

void report_usage(Outcome& outcome, const base::Error& error) {
  fmt::print(stderr, "kvasir: {}\n", error.message);
  outcome.status = kUsage;
}

}  // namespace kvasir::app
