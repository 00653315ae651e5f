#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/answer/brace_mender.h"
#include "text/answer/call_opening.h"
#include "text/answer/enforced_calls.h"
#include "text/answer/tool_syntax.h"
#include "text/tokenizer/json_scanner.h"

namespace kvasir::text {

// A piece of a call. Each piece of a call has the call's index; only the first has its name.
struct CallPiece {
  int index = 0;
  std::string name;
  std::string arguments;
  std::size_t content_before = 0;  // bytes of the same AnswerPiece's content before this piece
  bool operator==(const CallPiece&) const = default;
};

// New output of the parser.
struct AnswerPiece {
  std::string content;
  std::string reasoning;
  std::vector<CallPiece> calls;
  bool empty() const { return content.empty() && reasoning.empty() && calls.empty(); }
};

// Text that may be a call.
struct CallCandidate {
  CallOpening opening;
  std::size_t scanned = 0;  // bytes scanned so far, including the opening
  // For JSON only.
  JsonScanner scanner;
  BraceMender mender;
  std::string value;  // the JSON so far, with doubled braces mended
  // For a Python list only.
  int depth = 0;
  char quote = 0;
  bool escaped = false;
  bool plausible = false;
};

// Splits an answer into reasoning, content and tool calls while it arrives. The joined pieces do not depend
// on how the text was cut, as long as characters are whole. A complete call's arguments are always a JSON
// object. They are held back until they are complete, except those of a first call that a grammar enforces.
// Text that turns out not to be a call is content, unchanged. Blanks beside calls are dropped. Used for one
// stream by one thread.
class AnswerParser {
 public:
  explicit AnswerParser(std::shared_ptr<const AnswerSyntax> syntax);

  AnswerPiece push(std::string_view text);
  // Ends the answer. Nothing may be pushed after this.
  AnswerPiece finish();
  int num_calls() const { return num_calls_; }
  // True if a grammar enforced the calls, all of them are complete, and no further one has begun.
  bool ends_in_whole_calls() const { return enforced_ && enforced_->is_between_calls(); }

 private:
  enum class State : std::uint8_t { reasoning_start, reasoning, content, candidate, enforced };

  std::string_view rest() const { return std::string_view(held_).substr(at_); }
  void run(AnswerPiece& piece, More more);
  // Each step function returns false if it needs more text.
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
  bool scan_json(std::string_view text);
  bool scan_python(std::string_view text);

  const std::shared_ptr<const AnswerSyntax> syntax_;
  State state_ = State::content;
  std::string held_;
  std::size_t at_ = 0;  // offset in `held_`; everything before it has been handled
  std::string blanks_;  // held back, since a call may follow
  bool line_start_ = true;
  bool after_call_ = false;
  bool brace_may_follow_ = false;  // just after a call whose first brace was doubled
  bool in_fence_ = false;          // inside a fence in the content
  bool call_fence_ = false;        // inside a fence that wraps calls
  bool skip_blanks_ = false;       // just after the reasoning
  std::optional<CallCandidate> candidate_;
  std::optional<EnforcedCalls> enforced_;
  // The arguments so far of a call after the first one. If the answer is cut here, this call is dropped, so
  // that all calls are complete.
  std::optional<std::string> further_call_;
  int num_calls_ = 0;
  int num_rejected_ = 0;
};

}  // namespace kvasir::text
