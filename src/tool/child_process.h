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

// A program that talks over its standard streams, in a process group of its own. It dies with this object,
// and with the thread that started it. On one executor.
class ChildProcess {
 public:
  struct Command {
    std::string program;  // looked for in PATH
    std::vector<std::string> args;
    std::vector<std::pair<std::string, std::string>> env;  // put over the server's own
  };
  static base::Result<std::unique_ptr<ChildProcess>> start(const Command& command,
                                                           const boost::asio::any_io_executor& executor);
  // Kills the group at once.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  boost::asio::posix::stream_descriptor& input() { return input_; }
  boost::asio::posix::stream_descriptor& output() { return output_; }
  boost::asio::posix::stream_descriptor& errors() { return errors_; }

  // Whether it has ended by itself; never blocks.
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
