#pragma once

#include <span>

#include "sched/grant.h"

namespace kvasir::sched {

// The strictest TPOT SLO of the streams; a stream without its own has `model_tpot_s`. Only streams of the
// highest class among them count: a lower class rides along in the steps of a higher one.
double strictest_tpot_s(std::span<const Grant> streams, double model_tpot_s);

}  // namespace kvasir::sched
