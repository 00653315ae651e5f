#pragma once

namespace kvasir::app {

// Runs the command that the arguments name. Returns the exit status.
int run_program(int argc, char** argv);

}  // namespace kvasir::app
