#include "text/answer/brace_mender.h"

#include <utility>

namespace kvasir::text {

bool BraceMender::keeps(char byte) {
  if (in_string_) {
    in_string_ = escaped_ || byte != '"';
    escaped_ = !escaped_ && byte == '\\';
    return true;
  }
  const char previous = std::exchange(previous_, byte);
  if (byte == '"') in_string_ = true;
  if (byte == '{') {
    if (previous == '{' && !doubled_.back()) {
      doubled_.back() = true;
      return false;
    }
    doubled_.push_back(false);
  }
  if (byte == '}') {
    if (previous == '}' && std::exchange(closed_doubled_, false)) return false;
    closed_doubled_ = !doubled_.empty() && doubled_.back();
    if (!doubled_.empty()) doubled_.pop_back();
  }
  return true;
}

}  // namespace kvasir::text
