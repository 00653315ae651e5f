#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::net {

// Parses a stream of server-sent events from pieces of any length. Passes on only the data of an event, and
// drops its name, id and retry time, and comments. Used by one thread.
class SseReader {
 public:
  // `too_large` if one event exceeds `max_event_bytes`.
  SseReader(std::size_t max_event_bytes, std::function<base::Status(std::string_view data)> on_event)
      : max_event_bytes_(max_event_bytes), on_event_(std::move(on_event)) {}

  base::Status feed(std::string_view bytes);

 private:
  base::Status end_line();

  const std::size_t max_event_bytes_;
  const std::function<base::Status(std::string_view)> on_event_;
  std::string line_;
  std::string data_;  // of the current event, with a newline after each line
  bool after_cr_ = false;
};

}  // namespace kvasir::net
