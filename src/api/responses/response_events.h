#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::api {

namespace json = boost::json;

// The events of one response's stream, numbered from 0. An item is its JSON as it is at that moment, with its
// index in the output.
class ResponseEvents {
 public:
  // "response.created" and the like.
  std::string about(std::string_view type, const json::object& response);

  std::string begin_item(std::size_t index, const json::object& item);
  // More of its text, or of a call's arguments. `logprobs` are those of a message's text.
  std::string extend_item(std::size_t index, const json::object& item, std::string_view delta,
                          json::array logprobs);
  // The text is all there; what a call of this server's tools gave comes later.
  std::string complete_text(std::size_t index, const json::object& item);
  std::string end_item(std::size_t index, const json::object& item);

 private:
  std::string event(std::string_view type, json::object more);

  std::int64_t next_number_ = 0;
};

// The events that a stream of this stored response could have had, each text in one piece; without those up
// to the number `starting_after`; it is an error where none are after it.
base::Result<std::string> replayed_events(const json::object& response, std::int64_t starting_after);

}  // namespace kvasir::api
