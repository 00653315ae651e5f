#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "obs/trace_context.h"
#include "tool/lifeline.h"
#include "tool/lookups.h"

namespace kvasir::tool {

namespace json = boost::json;

// The description of a tool that a model gets.
struct Definition {
  std::string name;
  std::string description;
  json::value parameters;  // a JSON schema
};

// A call of a tool. The constructor works around a bug in g++ 12; see net::HttpHeader.
struct Call {
  Call(std::string tool_in, json::object arguments_in, obs::TraceHeaders trace_in = {})
      : tool(std::move(tool_in)), arguments(std::move(arguments_in)), trace(std::move(trace_in)) {}

  std::string tool;  // a name that a source offers
  json::object arguments;
  obs::TraceHeaders trace;  // passed on to the server of the tool
};

// The result of a call, worded for the model. A failed call is also an outcome.
struct Outcome {
  Outcome() = default;
  Outcome(bool failed_in, std::string text_in) : failed(failed_in), text(std::move(text_in)) {}

  bool failed = false;
  std::string text;  // valid UTF-8
};

// Makes the text of a result from `bytes`: at most `max_bytes`, with invalid UTF-8 replaced. Text that was
// cut off says so at its end.
std::string bounded_text(std::string_view bytes, std::size_t max_bytes);

// Objects that all sources share. The executor is the toolbox's thread.
struct Surroundings {
  boost::asio::any_io_executor executor;
  Lookups& lookups;
};

// The tools of one row of the configuration. Used on the toolbox's thread, except for `offers`.
class Source {
 public:
  virtual ~Source() = default;

  virtual void start() {}
  // Asks everything that runs in the background to end. It ends soon after.
  virtual void stop() {}
  // Returns the tools that can be called now. The error is `unavailable` while they are not known.
  // Thread-safe.
  virtual base::Result<std::vector<Definition>> offers() const = 0;
  // Calls a tool that `offers` returned. Ends soon after `line` does.
  virtual boost::asio::awaitable<Outcome> call(Call call, Lifeline& line) = 0;
};

}  // namespace kvasir::tool
