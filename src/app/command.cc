#include "app/command.h"

#include <cstdio>

#include "app/say.h"

namespace kvasir::app {

void report(Outcome& outcome, const base::Error& error) {
  say(stderr, "kvasir: {}\n", error.message);
  outcome.status = kFailure;
}

void report_usage(Outcome& outcome, const base::Error& error) {
  say(stderr, "kvasir: {}\n", error.message);
  outcome.status = kUsage;
}

}  // namespace kvasir::app
