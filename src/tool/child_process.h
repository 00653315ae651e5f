#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kvasir::tool {

// A program that communicates over its standard streams, in a process group of its own. The program dies with
// this object, and with the thread that started it. Used on one executor only.
class ChildProcess {
 public:
  struct Command {
    std::string program;  // searched for in PATH
    std::vector<std::string> args;
    std::vector<std::pair<std::string, std::string>> env;  // added to the server's environment
  };
  static base::Result<std::unique_ptr<ChildProcess>> start(const Command& command,
                                                           const boost::asio::any_io_executor& executor);
  // Kills the process group at once.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  boost::asio::posix::stream_descriptor& input() { return input_; }
  boost::asio::posix::stream_descriptor& output() { return output_; }
  boost::asio::posix::stream_descriptor& errors() { return errors_; }

  // Whether the program has ended by itself. Never blocks.
  bool ended();

 private:
  ChildProcess(pid_t pid, const boost::asio::any_io_executor& executor);
  bool reap(int flags);

  pid_t pid_;  // 0 once it is gone
  boost::asio::posix::stream_descriptor input_;
  boost::asio::posix::stream_descriptor output_;
  boost::asio::posix::stream_descriptor errors_;
};

}  // namespace kvasir::tool
