#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/answer/tool_syntax.h"
#include "text/tokenizer/json_scanner.h"

namespace kvasir::text {

// Reads calls whose exact text a grammar enforces. Reads byte by byte, so that arguments can be passed on as
// they come. Used for one stream by one thread.
class EnforcedCalls {
 public:
  explicit EnforcedCalls(const CallText& text);

  enum class Found : std::uint8_t {
    nothing,    // the byte belongs to the frame around names and arguments
    name,       // `name()` is the name of a new call
    arguments,  // the byte belongs to the call's arguments
    stray,      // the byte belongs to no call, so the grammar was violated
  };
  Found push(char byte);
  const std::string& name() const { return name_; }
  // Whether the last byte was inside the arguments of an incomplete call.
  bool in_arguments() const { return phase_ == Phase::arguments; }
  // Whether there was at least one call and none has begun after the last one.
  bool is_between_calls() const;

 private:
  enum class Phase : std::uint8_t { frame, name, after_name, arguments, after, next, end, done, stray };

  // Matches the byte against the rest of the frame's text. Enters `then` at the end of that text.
  Found frame_byte(char byte, Phase then);
  Found choose_next(char byte);
  void expect(Phase phase, std::string_view literal);

  const CallText& text_;
  Phase phase_ = Phase::frame;
  std::string left_;  // text of the frame that must still come
  std::string name_;
  bool has_call_ = false;  // at least one whole call
  JsonScanner scanner_;
};

}  // namespace kvasir::text
