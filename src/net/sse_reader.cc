#include "net/sse_reader.h"

namespace kvasir::net {

base::Status SseReader::feed(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (second_half) continue;
    if (c == '\r' || c == '\n') {
      TRY_OK(end_line());
      continue;
    }
    if (line_.size() + data_.size() >= max_event_bytes_)
      return base::error(base::ErrorCode::too_large, "an event of the stream is over {} bytes",
                         max_event_bytes_);
    line_ += c;
  }
  return base::ok();
}

base::Status SseReader::end_line() {
  const std::string line = std::move(line_);
  line_.clear();
  if (line.empty()) {
    if (data_.empty()) return base::ok();
    const std::string data = std::move(data_);
    data_.clear();
    return on_event_(std::string_view(data).substr(0, data.size() - 1));
  }
  if (line != "data" && !line.starts_with("data:")) return base::ok();
  std::string_view value = std::string_view(line).substr(std::min<std::size_t>(line.size(), 5));
  if (value.starts_with(' ')) value.remove_prefix(1);
  data_ += value;
  data_ += '\n';
  return base::ok();
}

}  // namespace kvasir::net
