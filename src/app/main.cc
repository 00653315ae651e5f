#include <cstdio>
#include <exception>

#include "app/command.h"
#include "app/program.h"
#include "app/say.h"
#include "base/heap.h"

int main(int argc, char** argv) {
  kvasir::base::keep_freed_memory();
  try {
    return kvasir::app::run_program(argc, argv);
  } catch (const std::exception& error) {
    kvasir::app::say(stderr, "kvasir: {}\n", error.what());
    return kvasir::app::kFailure;
  }
}
