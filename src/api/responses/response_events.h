#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::api {

namespace json = boost::json;

// Writes the events of one response's stream, numbered from 0. The caller passes an item's current JSON with
// the item's index in the output.
class ResponseEvents {
 public:
  // Makes an event about the whole response, such as "response.created".
  std::string about(std::string_view type, const json::object& response);

  std::string begin_item(std::size_t index, const json::object& item);
  // Appends to the item's text, or to a call's arguments. `logprobs` are those of a message's new text.
  std::string extend_item(std::size_t index, const json::object& item, std::string_view delta,
                          json::array logprobs);
  // Ends the item's text. The result of a server tool's call comes later, in `end_item`.
  std::string complete_text(std::size_t index, const json::object& item);
  std::string end_item(std::size_t index, const json::object& item);

 private:
  std::string event(std::string_view type, json::object more);

  std::int64_t next_number_ = 0;
};

// Makes the events after number `starting_after` that a stream of this stored response would have had, except
// that each text is in one piece. An error if there is no event after that number.
base::Result<std::string> replayed_events(const json::object& response, std::int64_t starting_after);

}  // namespace kvasir::api
