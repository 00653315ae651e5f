#pragma once

#include <string>

#include "config/settings.h"
#include "model/arch/model_config.h"

namespace kvasir::host {

// The longest sequence of a model, and why it is shorter than the settings ask for.
struct Context {
  int length = 0;
  std::string cut;  // a sentence; empty if nothing was cut
};

// The context that the settings ask for, never longer than the model's.
int wanted_context(const model::ModelConfig& config, const config::Settings& settings);
// The part of the wanted context that fits into `num_blocks` blocks of KV.
Context context_of(const model::ModelConfig& config, const config::Settings& settings, int num_blocks);

}  // namespace kvasir::host
