#pragma once

#include <string>

#include "config/settings.h"
#include "model/arch/model_config.h"

namespace kvasir::host {

// The longest sequence, and why it is shorter than was asked for.
struct Context {
  int length = 0;
  std::string cut;  // a sentence; empty if nothing was cut
};

// The wanted context, which is never longer than the model's.
int wanted_context(const model::ModelConfig& config, const config::Settings& settings);
// What `num_blocks` blocks of KV leave of it.
Context context_of(const model::ModelConfig& config, const config::Settings& settings, int num_blocks);

}  // namespace kvasir::host
