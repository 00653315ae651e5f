#pragma once

#include "ops/cuda/mixture.h"

namespace kvasir::ops::cuda {

// As multiply_experts, for experts with many slots, by warpgroups if the device has them.
bool wide_experts_take(const ExpertProductArgs& args);
void multiply_experts_wide(StreamHandle stream, const ExpertProductArgs& args);

}  // namespace kvasir::ops::cuda
