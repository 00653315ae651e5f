#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::api {

namespace json = boost::json;

// Writes the events of one response's stream, numbered from 0. An item is passed as its current JSON with its
// index in the output.
class ResponseEvents {
 public:
  // Events about the whole response, such as "response.created".
  std::string about(std::string_view type, const json::object& response);

  std::string begin_item(std::size_t index, const json::object& item);
  // Appends to the item's text, or to a call's arguments. `logprobs` belong to a message's text.
  std::string extend_item(std::size_t index, const json::object& item, std::string_view delta,
                          json::array logprobs);
  // The item's text is complete. The result of a server tool's call comes later.
  std::string complete_text(std::size_t index, const json::object& item);
  std::string end_item(std::size_t index, const json::object& item);

 private:
  std::string event(std::string_view type, json::object more);

  std::int64_t next_number_ = 0;
};

// The events that a stream of this stored response would have had, with each text in one piece, after number
// `starting_after`. An error if no event comes after it.
base::Result<std::string> replayed_events(const json::object& response, std::int64_t starting_after);

}  // namespace kvasir::api
