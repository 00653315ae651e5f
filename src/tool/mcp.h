#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/tool.h"

// The Model Context Protocol from the side of a client that uses tools: JSON-RPC 2.0 over a transport.
namespace kvasir::tool {

// The largest message of a server. A larger one breaks the connection.
inline constexpr std::size_t kMaxMessageBytes = 16 << 20;

// A connection to a server. Used on the toolbox's thread. Shared, since calls may be running when it is
// replaced.
class McpTransport {
 public:
  virtual ~McpTransport() = default;

  // The "result" of a request. A JSON-RPC error becomes an error. Ends soon after `line` does.
  virtual boost::asio::awaitable<base::Result<json::object>> request(std::string_view method,
                                                                     json::object params, Lifeline& line) = 0;
  virtual boost::asio::awaitable<base::Status> notify(std::string_view method, json::object params,
                                                      Lifeline& line) = 0;
  // Sets the protocol version that the server chose.
  virtual void set_version(std::string version) = 0;
  // Says goodbye to the server.
  virtual boost::asio::awaitable<void> close(Lifeline& line) = 0;
  // Whether the connection is lost, so that a new one is needed.
  virtual bool lost() const = 0;
};

// Events that the server causes by itself, reported to the transport's owner.
struct McpEvents {
  std::function<void()> lost = [] {};
  std::function<void()> tools_changed = [] {};
};

json::object request_message(std::int64_t id, std::string_view method, json::object params);
json::object notification_message(std::string_view method, json::object params);
// A trace as the field "_meta" of a request's parameters, where every transport carries it, and back. A
// message without one gives empty headers.
json::object trace_meta(const obs::TraceHeaders& trace);
obs::TraceHeaders trace_of(const json::object& message);
// Parses a message or a batch of messages. Items that are not objects are dropped.
base::Result<std::vector<json::object>> read_messages(std::string_view text);
// The "result" of a response, or its error.
base::Result<json::object> result_of(json::object answer);
// The answer to a request of the server. Only "ping" is supported.
json::object answer_to(const json::object& request);

// Opens a session: initialize and initialized.
boost::asio::awaitable<base::Status> open_session(McpTransport& transport, Lifeline& line);
// All tools of the server, page by page, with the server's own names.
boost::asio::awaitable<base::Result<std::vector<Definition>>> list_tools(McpTransport& transport,
                                                                         Lifeline& line);
// The result of tools/call as text.
Outcome outcome_of(const json::object& result, std::size_t max_bytes);

}  // namespace kvasir::tool
