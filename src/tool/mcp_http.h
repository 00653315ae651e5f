#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/tool_config.h"
#include "net/http_client.h"
#include "tool/mcp.h"

namespace kvasir::tool {

// An MCP server at an HTTP address. Each message is a POST, and the answer is JSON or a stream of events. If
// the server has forgotten the session, a new one is opened. The transport is lost if nothing answers at the
// address.
class McpHttp final : public McpTransport, public std::enable_shared_from_this<McpHttp> {
 public:
  static std::shared_ptr<McpHttp> make(net::Url url, const config::ToolConfig::Pairs& headers,
                                       Surroundings surroundings, McpEvents events);

  boost::asio::awaitable<base::Result<json::object>> request(std::string_view method, json::object params,
                                                             Lifeline& line) override;
  boost::asio::awaitable<base::Status> notify(std::string_view method, json::object params,
                                              Lifeline& line) override;
  void set_version(std::string version) override { version_ = std::move(version); }
  boost::asio::awaitable<void> close(Lifeline& line) override;
  bool lost() const override { return lost_; }

 private:
  class Reading;
  McpHttp(net::Url url, const config::ToolConfig::Pairs& headers, Surroundings surroundings,
          McpEvents events);
  net::HttpCall call_with(std::string body) const;
  boost::asio::awaitable<base::Result<json::object>> post(std::int64_t id, const json::object& message,
                                                          Lifeline& line);
  void take_from_server(const json::object& message);
  // The first call that finds the session forgotten opens a new one, for all calls that used the old one.
  boost::asio::awaitable<base::Status> reopen_session(std::string forgotten, Lifeline& line);
  void send_soon(json::object message);
  boost::asio::awaitable<void> send_alone(json::object message);

  const net::Url url_;
  const config::ToolConfig::Pairs headers_;
  const Surroundings surroundings_;
  McpEvents events_;
  std::string session_;  // the id that the server gave; empty: no session, or the server uses none
  std::string version_;
  std::int64_t next_id_ = 1;
  bool lost_ = false;
  bool opening_ = false;
  int num_alone_ = 0;
};

}  // namespace kvasir::tool
