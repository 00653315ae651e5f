#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvasir::hub {

struct Command {
  std::vector<std::string> argv;                         // argv[0] is looked for in PATH
  std::vector<std::pair<std::string, std::string>> env;  // put over the caller's environment
};

// Both run on the calling thread; an error from either kills the command and is what run_command returns.
struct CommandSink {
  std::function<base::Status(std::string_view)> output;            // its stdout
  std::function<base::Status()> tick = [] { return base::ok(); };  // every 100 ms or so
};

struct CommandResult {
  int status = 0;      // as a shell has it: 128 + n after signal n
  std::string errors;  // the end of its stderr
};

// Runs a program without a shell, its stdin empty, its stderr kept, in a process group of its own that is
// killed as a whole once `stop` is requested (`cancelled`). `not_found` where there is no such program.
base::Result<CommandResult> run_command(const Command& command, const CommandSink& sink,
                                        std::stop_token stop);

// The last line that says something, for a message of one line.
std::string last_line(std::string_view text);

}  // namespace kvasir::hub
