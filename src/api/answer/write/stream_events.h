#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

// For tests: parses the events of a stream.
namespace kvasir::api {

struct StreamEvent {
  std::string name;
  std::uint64_t number = 0;  // from its "id:" line
  base::json::value data;
};

// Skips comments. Anything else that is not an event fails the test.
inline std::vector<StreamEvent> stream_events(std::string_view stream) {
  std::vector<StreamEvent> events;
  while (!stream.empty()) {
    const std::size_t end = stream.find("\n\n");
    EXPECT_NE(end, std::string_view::npos) << stream;
    if (end == std::string_view::npos) break;
    std::string_view lines = stream.substr(0, end + 1);
    stream.remove_prefix(end + 2);
    if (lines.starts_with(':')) continue;
    StreamEvent event;
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(line.size() + 1);
      if (line.starts_with("event: ")) event.name = line.substr(7);
      if (line.starts_with("id: ")) event.number = std::stoull(std::string(line.substr(4)));
      if (!line.starts_with("data: ")) continue;
      auto data = base::parse_json(line.substr(6));
      event.data = data.ok() ? *data : base::json::value(std::string(line.substr(6)));
    }
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace kvasir::api
