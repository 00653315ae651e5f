#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/answer/call_opening.h"
#include "text/answer/enforced_calls.h"
#include "text/answer/tool_syntax.h"
#include "text/tokenizer/json_scanner.h"

namespace kvasir::text {

// Part of a call. The pieces of one call have its index; the first has its name.
struct CallPiece {
  int index = 0;
  std::string name;
  std::string arguments;
  std::size_t content_before = 0;  // bytes of the same AnswerPiece's content
  bool operator==(const CallPiece&) const = default;
};

// What became certain about an answer.
struct AnswerPiece {
  std::string content;
  std::string reasoning;
  std::vector<CallPiece> calls;
  bool empty() const { return content.empty() && reasoning.empty() && calls.empty(); }
};

// Text that may be a call.
struct CallCandidate {
  CallOpening opening;
  std::size_t scanned = 0;  // bytes of the text, the opening counted
  JsonScanner scanner;
  // Of a Python list.
  int depth = 0;
  char quote = 0;
  bool escaped = false;
  bool plausible = false;
};

// Takes an answer apart as it comes: reasoning, content, calls of tools. The pieces, joined, do not depend on
// how the text was cut, as long as characters are whole. Arguments of a complete call are always a JSON
// object: where no grammar vouches for them they are held back until they are, and so are those of any call
// after the first. Text that turns out to be no
// call is content, unchanged. Blanks beside calls are dropped. One stream, one thread.
class AnswerParser {
 public:
  explicit AnswerParser(std::shared_ptr<const AnswerSyntax> syntax);

  AnswerPiece push(std::string_view text);
  // The end of the answer; nothing may be pushed any more.
  AnswerPiece finish();
  int num_calls() const { return num_calls_; }
  // Calls that a grammar enforced are there, all of them whole, and no other was begun.
  bool ends_in_whole_calls() const { return enforced_ && enforced_->is_between_calls(); }

 private:
  enum class State : std::uint8_t { reasoning_start, reasoning, content, candidate, enforced };

  std::string_view rest() const { return std::string_view(held_).substr(at_); }
  void run(AnswerPiece& piece, More more);
  // Each answers false where it can do no more with what is there.
  bool step(AnswerPiece& piece, More more);
  bool begin_reasoning(More more);
  bool read_reasoning(AnswerPiece& piece, More more);
  bool read_content(AnswerPiece& piece, More more);
  bool read_candidate(AnswerPiece& piece, More more);
  bool read_enforced(AnswerPiece& piece);
  bool may_open() const;
  bool take_blank();
  bool take_trailer(More more, bool& waits);
  void take_plain(AnswerPiece& piece);
  void reject(AnswerPiece& piece);
  std::optional<std::vector<ToolCall>> calls_of_candidate() const;
  bool scan_python(std::string_view text);

  const std::shared_ptr<const AnswerSyntax> syntax_;
  State state_ = State::content;
  std::string held_;
  std::size_t at_ = 0;  // of `held_`: what is before has been dealt with
  std::string blanks_;  // not given out: a call may follow
  bool line_start_ = true;
  bool after_call_ = false;
  bool in_fence_ = false;     // of the content
  bool call_fence_ = false;   // a fence that was taken as the frame of calls
  bool skip_blanks_ = false;  // after the reasoning
  std::optional<CallCandidate> candidate_;
  std::optional<EnforcedCalls> enforced_;
  // The arguments so far of a call after the first: an answer that is cut here has whole calls without it.
  std::optional<std::string> further_call_;
  int num_calls_ = 0;
  int num_rejected_ = 0;
};

}  // namespace kvasir::text
