#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tool/child_process.h"
#include "tool/mcp.h"

namespace kvasir::tool {

// An MCP server that runs as a child process, with one message per line on its standard streams. The
// transport is lost when the process ends or sends something that is not a message.
class McpStdio final : public McpTransport, public std::enable_shared_from_this<McpStdio> {
 public:
  // `events` may be called until `close`.
  static base::Result<std::shared_ptr<McpStdio>> start(const ChildProcess::Command& command,
                                                       const boost::asio::any_io_executor& executor,
                                                       McpEvents events);

  boost::asio::awaitable<base::Result<json::object>> request(std::string_view method, json::object params,
                                                             Lifeline& line) override;
  boost::asio::awaitable<base::Status> notify(std::string_view method, json::object params,
                                              Lifeline& line) override;
  void set_version(std::string) override {}
  boost::asio::awaitable<void> close(Lifeline& line) override;
  bool lost() const override { return lost_.has_value(); }

 private:
  // A request that waits for its answer.
  struct Waiting {
    explicit Waiting(const boost::asio::any_io_executor& executor)
        : wake(executor, boost::asio::steady_timer::time_point::max()) {}
    boost::asio::steady_timer wake;
    std::optional<base::Result<json::object>> answer;
  };

  McpStdio(std::string program, std::unique_ptr<ChildProcess> child,
           const boost::asio::any_io_executor& executor, McpEvents events);
  boost::asio::awaitable<void> read_output();
  boost::asio::awaitable<void> read_errors();
  void note_errors(std::string_view bytes);
  void read_pending_errors();
  boost::asio::awaitable<void> watch_child();
  boost::asio::awaitable<void> write_queued();
  base::Status take_line(std::string_view line);
  void take_message(json::object message);
  base::Status send(const json::object& message);
  void lose(std::string reason);

  const std::string program_;
  const boost::asio::any_io_executor executor_;
  std::unique_ptr<ChildProcess> child_;
  McpEvents events_;
  boost::asio::steady_timer watch_;
  std::optional<std::string> lost_;  // the reason, once the transport is lost
  std::string errors_;               // the end of its stderr
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, Waiting*> waiting_;
  std::deque<std::string> queued_;
  std::size_t num_queued_bytes_ = 0;
  bool writing_ = false;
  bool closing_ = false;
};

}  // namespace kvasir::tool
