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
  std::vector<std::string> argv;                         // argv[0] is searched for in PATH
  std::vector<std::pair<std::string, std::string>> env;  // added to the caller's environment
};

// Both functions run on the thread that called run_command. If one of them returns an error, the command is
// killed and run_command returns that error.
struct CommandSink {
  std::function<base::Status(std::string_view)> output;            // takes the command's stdout
  std::function<base::Status()> tick = [] { return base::ok(); };  // about every 100 ms
};

struct CommandResult {
  int status = 0;      // as in a shell: 128 + n after signal n
  std::string errors;  // the end of the command's stderr
};

// Runs a program without a shell. The program's stdin is empty and its stderr is kept. It has a process group
// of its own; once `stop` is requested, the whole group is killed and the error is `cancelled`. The error is
// `not_found` if there is no such program.
base::Result<CommandResult> run_command(const Command& command, const CommandSink& sink,
                                        std::stop_token stop);

// Returns the last line that is not blank, for a one-line message.
std::string last_line(std::string_view text);

}  // namespace kvasir::hub
