#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/tool_config.h"
#include "tool/mcp.h"
#include "tool/pace.h"

namespace kvasir::tool {

// The tools of one MCP server. The source connects at the start, and again whenever the connection is lost. A
// tool is called by the row's name and the tool's own name: "files__read".
class McpSource final : public Source {
 public:
  static base::Result<std::unique_ptr<Source>> make(const config::ToolConfig& row, Surroundings surroundings);
  McpSource(config::ToolConfig row, Surroundings surroundings);

  void start() override;
  void stop() override;
  base::Result<std::vector<Definition>> offers() const override;
  boost::asio::awaitable<Outcome> call(Call call, Lifeline& line) override;

 private:
  boost::asio::awaitable<void> keep_connected();
  boost::asio::awaitable<base::Status> connect();
  boost::asio::awaitable<base::Status> refresh();
  // Waits until something happens, but at most `at_most`.
  boost::asio::awaitable<void> sleep(base::Duration at_most);
  void wake();
  base::Result<std::shared_ptr<McpTransport>> make_transport();
  void set_offers(base::Result<std::vector<Definition>> offers);

  const config::ToolConfig row_;
  const Surroundings surroundings_;
  boost::asio::steady_timer alarm_;
  std::shared_ptr<McpTransport> transport_;  // null: not connected yet
  Lifeline* connecting_ = nullptr;
  base::RealClock clock_;
  Pace refreshes_;
  bool changed_ = false;  // the server's tools have changed
  bool stopped_ = false;
  mutable std::mutex mutex_;
  base::Result<std::vector<Definition>> offers_;  // guarded by mutex_
};

}  // namespace kvasir::tool
