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
#include "tool/lifeline.h"
#include "tool/lookups.h"

namespace kvasir::tool {

namespace json = boost::json;

// What a model is told of a tool.
struct Definition {
  std::string name;
  std::string description;
  json::value parameters;  // a JSON schema
};

// What came of a call, in words for the model. A call that failed is an outcome like another.
struct Outcome {
  Outcome() = default;
  Outcome(bool failed_in, std::string text_in) : failed(failed_in), text(std::move(text_in)) {}

  bool failed = false;
  std::string text;  // valid UTF-8
};

// The text of a result within its bound: what is no UTF-8 is replaced, and where more came than
// `max_bytes` the end says so.
std::string bounded_text(std::string_view bytes, std::size_t max_bytes);

// What sources share. The executor is the toolbox's thread.
struct Surroundings {
  boost::asio::any_io_executor executor;
  Lookups& lookups;
};

// One row of the configuration. On the toolbox's thread, but for `offers`.
class Source {
 public:
  virtual ~Source() = default;

  virtual void start() {}
  // Ends whatever runs by itself, soon.
  virtual void stop() {}
  // The tools that can be called now; unavailable while nobody knows them. Thread-safe.
  virtual base::Result<std::vector<Definition>> offers() const = 0;
  // `tool` is one of the names that it offered. Ends soon after `line` does.
  virtual boost::asio::awaitable<Outcome> call(std::string tool, json::object arguments, Lifeline& line) = 0;
};

}  // namespace kvasir::tool
