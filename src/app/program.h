#pragma once

namespace kvasir::app {

// Runs the command that these words name; the program's exit status.
int run_program(int argc, char** argv);

}  // namespace kvasir::app
