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

// A connection to a server. Used on the toolbox's thread. Shared, since calls may still run on a connection
// that has been replaced.
class McpTransport {
 public:
  virtual ~McpTransport() = default;

  // Returns the "result" of the answer. A JSON-RPC error becomes an error. Ends soon after `line` does.
  virtual boost::asio::awaitable<base::Result<json::object>> request(std::string_view method,
                                                                     json::object params, Lifeline& line) = 0;
  virtual boost::asio::awaitable<base::Status> notify(std::string_view method, json::object params,
                                                      Lifeline& line) = 0;
  // Sets the protocol version that the server chose.
  virtual void set_version(std::string version) = 0;
  // Ends the session as the transport requires: by a DELETE request, or by closing the child's input.
  virtual boost::asio::awaitable<void> close(Lifeline& line) = 0;
  // Whether the connection is lost, so that a new one is needed.
  virtual bool lost() const = 0;
};

// Events that the server causes without a request. The transport reports them to its owner.
struct McpEvents {
  std::function<void()> lost = [] {};
  std::function<void()> tools_changed = [] {};
};

json::object request_message(std::int64_t id, std::string_view method, json::object params);
json::object notification_message(std::string_view method, json::object params);
// `trace_meta` writes a trace as the field "_meta" of a request's parameters, which every transport carries.
// `trace_of` reads it back, and returns empty headers if the message has none.
json::object trace_meta(const obs::TraceHeaders& trace);
obs::TraceHeaders trace_of(const json::object& message);
// Parses a message or a batch of messages. Items that are not objects are dropped.
base::Result<std::vector<json::object>> read_messages(std::string_view text);
// Returns the "result" of a response, or its error.
base::Result<json::object> result_of(json::object answer);
// Returns the answer to a request from the server. Only "ping" is supported.
json::object answer_to(const json::object& request);

// Opens a session: sends "initialize" and then "initialized".
boost::asio::awaitable<base::Status> open_session(McpTransport& transport, Lifeline& line);
// Returns all tools of the server, with the server's own names. Fetches the list page by page.
boost::asio::awaitable<base::Result<std::vector<Definition>>> list_tools(McpTransport& transport,
                                                                         Lifeline& line);
// Converts the result of tools/call to text.
Outcome outcome_of(const json::object& result, std::size_t max_bytes);

}  // namespace kvasir::tool
