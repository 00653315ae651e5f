#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/tool.h"

// The Model Context Protocol as a client of tools speaks it: JSON-RPC 2.0 over a transport.
namespace kvasir::tool {

// Bytes of one message of a server; a larger one breaks the connection.
inline constexpr std::size_t kMaxMessageBytes = 16 << 20;

// A server's connection. On the toolbox's thread; shared, as calls may be under way when it is replaced.
class McpTransport {
 public:
  virtual ~McpTransport() = default;

  // The "result" of a request; what the server calls an error is one. Ends soon after `line` does.
  virtual boost::asio::awaitable<base::Result<json::object>> request(std::string_view method,
                                                                     json::object params, Lifeline& line) = 0;
  virtual boost::asio::awaitable<base::Status> notify(std::string_view method, json::object params,
                                                      Lifeline& line) = 0;
  // What the server chose.
  virtual void set_version(std::string version) = 0;
  // Takes leave of the server.
  virtual boost::asio::awaitable<void> close(Lifeline& line) = 0;
  // Nothing can be asked any more: a new connection is needed.
  virtual bool lost() const = 0;
};

// What a transport tells its owner of, from the server's own accord.
struct McpEvents {
  std::function<void()> lost = [] {};
  std::function<void()> tools_changed = [] {};
};

json::object request_message(std::int64_t id, std::string_view method, json::object params);
json::object notification_message(std::string_view method, json::object params);
// A message, or a batch of them; what is no object among them is left out.
base::Result<std::vector<json::object>> read_messages(std::string_view text);
// The "result" of an answer, or its error.
base::Result<json::object> result_of(json::object answer);
// What is answered to a request of the server: it may ask for life signs, and for nothing else.
json::object answer_to(const json::object& request);

// Opens a session: initialize and initialized.
boost::asio::awaitable<base::Status> open_session(McpTransport& transport, Lifeline& line);
// All tools of the server, page by page; names are the server's own.
boost::asio::awaitable<base::Result<std::vector<Definition>>> list_tools(McpTransport& transport,
                                                                         Lifeline& line);
// What the result of tools/call says, as text.
Outcome outcome_of(const json::object& result, std::size_t max_bytes);

}  // namespace kvasir::tool
