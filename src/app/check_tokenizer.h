#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir check tokenizer TOKENIZER GOLDEN`
void add_check_tokenizer(CLI::App& check, Outcome& outcome);

}  // namespace kvasir::app
