#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "config/tool_config.h"
#include "tool/lookups.h"
#include "tool/tool.h"

namespace kvasir::tool {

// The tools that this server runs itself, on a thread of their own for sockets and child processes. Only the
// settings decide which tools may be called and where they are; a call names a tool and brings arguments.
// Thread-safe.
class Toolbox {
 public:
  // Fails if a row can never work (e.g. its address is invalid), but not if a server is down.
  static base::Result<std::unique_ptr<Toolbox>> open(const std::vector<config::ToolConfig>& rows);
  ~Toolbox();
  Toolbox(const Toolbox&) = delete;
  Toolbox& operator=(const Toolbox&) = delete;

  // Returns the tools that a name stands for: an HTTP tool, all tools of an MCP server, or one of these
  // ("server__tool"). The error is `not_found` for an unknown name, and `unavailable` if the tool's server is
  // down.
  base::Result<std::vector<Definition>> find(std::string_view name) const;

  struct Row {
    std::string name;
    config::ToolConfig::Kind kind;
    base::Result<std::vector<Definition>> offers;
  };
  std::vector<Row> list() const;

  // Starts a call of a tool whose name `find` returned. `done` is called once, on another thread: when the
  // tool's timeout has passed at the latest, and soon after `stop` is requested. `done` is not called after
  // `stop()` has returned.
  void start(Call call, std::stop_token stop, std::function<void(Outcome)> done);

  // Gives up running calls and ends child processes. Later calls fail at once.
  void stop();

 private:
  struct Held {
    config::ToolConfig row;
    std::unique_ptr<Source> source;
  };
  Toolbox();
  const Held* held(std::string_view name) const;
  boost::asio::awaitable<void> run(const Held& held, Call call, std::stop_token stop,
                                   std::function<void(Outcome)> done);

  boost::asio::io_context io_{1};
  Lookups lookups_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<Held> sources_;            // never changes once open
  std::unordered_set<Lifeline*> lines_;  // of the running calls; used on thread_ only
  std::mutex mutex_;
  bool stopped_ = false;  // guarded by mutex_
  std::atomic<int> num_running_{0};
  std::thread thread_;
};

}  // namespace kvasir::tool
