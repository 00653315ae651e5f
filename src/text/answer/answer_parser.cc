#include "text/answer/answer_parser.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace kvasir::text {
namespace {

using Kind = CallOpening::Kind;

constexpr std::string_view kThink = "<think>";
constexpr std::string_view kThinkEnd = "</think>";
constexpr std::string_view kFence = "```";
constexpr int kMaxRejected = 64;                // false calls after which the parser stops looking for calls
constexpr std::size_t kMaxCandidate = 1 << 20;  // bytes
constexpr std::size_t kMaxOutlook = 1024;  // bytes after which it must be clear whether a value may be a call

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Returns the number of bytes at the end of `text` that may begin the marker.
std::size_t partial_end(std::string_view text, std::string_view marker) {
  for (std::size_t n = std::min(marker.size() - 1, text.size()); n > 0; --n)
    if (text.ends_with(marker.substr(0, n))) return n;
  return 0;
}

void add_call(AnswerPiece& piece, int index, std::string name, std::string_view arguments) {
  if (name.empty() && !piece.calls.empty() && piece.calls.back().index == index) {
    piece.calls.back().arguments += arguments;
    return;
  }
  piece.calls.push_back({index, std::move(name), std::string(arguments), piece.content.size()});
}

}  // namespace

AnswerParser::AnswerParser(std::shared_ptr<const AnswerSyntax> syntax) : syntax_(std::move(syntax)) {
  if (syntax_->calls == AnswerSyntax::Calls::required) {
    state_ = State::enforced;
    enforced_.emplace(call_text(syntax_->syntax));
  }
  if (syntax_->reasoning == AnswerSyntax::Reasoning::tagged) state_ = State::reasoning_start;
  if (syntax_->reasoning == AnswerSyntax::Reasoning::open) {
    state_ = State::reasoning;
    skip_blanks_ = true;
  }
}

AnswerPiece AnswerParser::push(std::string_view text) {
  AnswerPiece piece;
  held_ += text;
  run(piece, More::may_come);
  return piece;
}

AnswerPiece AnswerParser::finish() {
  AnswerPiece piece;
  run(piece, More::none);
  if (num_calls_ == 0 && !skip_blanks_ && state_ != State::reasoning) piece.content += blanks_;
  blanks_.clear();
  return piece;
}

void AnswerParser::run(AnswerPiece& piece, More more) {
  while (at_ < held_.size() && step(piece, more)) continue;
  held_.erase(0, at_);
  at_ = 0;
}

bool AnswerParser::step(AnswerPiece& piece, More more) {
  switch (state_) {
    case State::reasoning_start:
      return begin_reasoning(more);
    case State::reasoning:
      return read_reasoning(piece, more);
    case State::content:
      return read_content(piece, more);
    case State::candidate:
      return read_candidate(piece, more);
    case State::enforced:
      return read_enforced(piece);
  }
  return false;
}

bool AnswerParser::begin_reasoning(More more) {
  const std::size_t begin = std::min(rest().find_first_not_of(" \t\r\n"), rest().size());
  const std::string_view text = rest().substr(begin);
  if (text.starts_with(kThink)) {
    at_ += begin + kThink.size();
    state_ = State::reasoning;
    skip_blanks_ = true;
    return true;
  }
  if (more == More::may_come && kThink.starts_with(text)) return false;
  state_ = enforced_ ? State::enforced : State::content;
  return true;
}

bool AnswerParser::read_reasoning(AnswerPiece& piece, More more) {
  if (skip_blanks_ && is_blank(rest().front())) {
    ++at_;
    return true;
  }
  skip_blanks_ = false;
  const std::size_t end = rest().find(kThinkEnd);
  std::size_t length = end;
  if (end == std::string_view::npos) {
    length = rest().size();
    if (more == More::may_come) length -= partial_end(rest(), kThinkEnd);
  }
  std::string_view text = rest().substr(0, length);
  // Blanks at the end of the reasoning do not belong to it. They are held back here, since more reasoning may
  // follow.
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  const std::string_view solid = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (!solid.empty()) piece.reasoning += std::exchange(blanks_, {}) + std::string(solid);
  blanks_ += text.substr(solid.size());
  at_ += length;
  if (end == std::string_view::npos) return false;
  at_ += kThinkEnd.size();
  blanks_.clear();
  skip_blanks_ = true;
  state_ = enforced_ ? State::enforced : State::content;
  return true;
}

bool AnswerParser::may_open() const {
  return syntax_->calls != AnswerSyntax::Calls::none && num_rejected_ < kMaxRejected;
}

bool AnswerParser::take_blank() {
  const char c = rest().front();
  if (!is_blank(c)) return false;
  ++at_;
  if (!skip_blanks_) blanks_ += c;
  if (c == '\n') line_start_ = true;
  return true;
}

// Takes text that follows a call and still belongs to it, or the end of the fence around the call.
bool AnswerParser::take_trailer(More more, bool& waits) {
  if (!after_call_) return false;
  if (std::exchange(brace_may_follow_, false) && rest().front() == '}') {
    ++at_;
    return true;
  }
  if (call_fence_) {
    if (rest().starts_with(kFence)) {
      at_ += kFence.size();
      call_fence_ = false;
      return true;
    }
    waits = more == More::may_come && kFence.starts_with(rest());
    if (waits) return false;
  }
  const std::size_t length = trailer_length(rest(), *syntax_, more);
  waits = length == std::string_view::npos;
  if (waits || length == 0) return false;
  at_ += length;
  return true;
}

bool AnswerParser::read_content(AnswerPiece& piece, More more) {
  if (take_blank()) return true;
  if (!may_open()) {
    take_plain(piece);
    return true;
  }
  bool waits = false;
  if (take_trailer(more, waits)) {
    blanks_.clear();
    line_start_ = true;
    return true;
  }
  if (waits) return false;
  const std::string_view trigger = call_text(syntax_->syntax).trigger;
  if (syntax_->calls == AnswerSyntax::Calls::after_trigger && !trigger.empty()) {
    if (rest().starts_with(trigger)) {
      blanks_.clear();
      enforced_.emplace(call_text(syntax_->syntax));
      state_ = State::enforced;
      return true;
    }
    if (more == More::may_come && trigger.starts_with(rest())) return false;
  }
  if (line_start_ && more == More::may_come && kFence.starts_with(rest()) && rest() != kFence) return false;
  const Place place = line_start_ && !in_fence_ ? Place::line_start : Place::within_line;
  CallOpening opening = opening_of(rest(), *syntax_, place, more);
  if (opening.kind == Kind::wait) return false;
  if (opening.kind == Kind::none) {
    take_plain(piece);
    return true;
  }
  if (opening.kind == Kind::ignored) {
    at_ += opening.length;
    line_start_ = true;
    return true;
  }
  candidate_.emplace();
  candidate_->scanned = opening.length;
  candidate_->opening = std::move(opening);
  state_ = State::candidate;
  return true;
}

// Takes one byte, or the three of a fence, as plain content.
void AnswerParser::take_plain(AnswerPiece& piece) {
  const bool fence = line_start_ && rest().starts_with(kFence);
  const std::size_t length = fence ? kFence.size() : 1;
  if (fence) in_fence_ = !in_fence_;
  piece.content += blanks_;
  blanks_.clear();
  piece.content += rest().substr(0, length);
  at_ += length;
  line_start_ = false;
  after_call_ = false;
  brace_may_follow_ = false;
  skip_blanks_ = false;
}

void AnswerParser::reject(AnswerPiece& piece) {
  ++num_rejected_;
  candidate_.reset();
  state_ = State::content;
  take_plain(piece);
}

// Scans more of the candidate's JSON. Returns true once the value is complete.
bool AnswerParser::scan_json(std::string_view text) {
  CallCandidate& c = *candidate_;
  for (const char byte : text) {
    if (c.mender.keeps(byte)) {
      if (c.scanner.push({&byte, 1}) == 0) return false;
      c.value += byte;
    }
    ++c.scanned;
    if (c.scanner.state() == JsonScanner::State::complete) return true;
  }
  return false;
}

// Scans more of the candidate's Python list. Returns true once the closing bracket has come.
bool AnswerParser::scan_python(std::string_view text) {
  CallCandidate& c = *candidate_;
  for (const char byte : text) {
    ++c.scanned;
    if (c.quote != 0) {
      if (!c.escaped && byte == c.quote) c.quote = 0;
      c.escaped = !c.escaped && byte == '\\';
    } else if (byte == '"' || byte == '\'') {
      c.quote = byte;
    } else if (byte == '[' || byte == '(' || byte == '{') {
      ++c.depth;
    } else if ((byte == ']' || byte == ')' || byte == '}') && --c.depth == 0) {
      return true;
    }
  }
  return false;
}

bool AnswerParser::read_candidate(AnswerPiece& piece, More more) {
  CallCandidate& c = *candidate_;
  const std::string_view text = rest();
  bool complete = false;
  if (c.opening.kind == Kind::python) {
    complete = scan_python(text.substr(c.scanned));
  } else {
    complete = scan_json(text.substr(c.scanned));
    bool hopeless = c.scanner.state() == JsonScanner::State::invalid;
    if (c.opening.kind == Kind::json && !c.plausible && !hopeless) {
      const Outlook outlook = outlook_of(std::string_view(c.value).substr(0, kMaxOutlook), *syntax_);
      hopeless = outlook == Outlook::hopeless;
      c.plausible = outlook == Outlook::plausible;
    }
    if (hopeless) {
      reject(piece);
      return true;
    }
  }
  if (!complete) {
    if (more == More::may_come && c.scanned < kMaxCandidate) return false;
    reject(piece);
    return true;
  }
  const std::optional<std::vector<ToolCall>> calls = calls_of_candidate();
  if (!calls) {
    reject(piece);
    return true;
  }
  for (const ToolCall& call : *calls) add_call(piece, num_calls_++, call.name, call.arguments);
  at_ += c.scanned;
  call_fence_ = call_fence_ || c.opening.fenced;
  blanks_.clear();
  line_start_ = true;
  after_call_ = true;
  brace_may_follow_ = c.mender.closed_doubled();
  skip_blanks_ = false;
  candidate_.reset();
  state_ = State::content;
  return true;
}

std::optional<std::vector<ToolCall>> AnswerParser::calls_of_candidate() const {
  const CallCandidate& c = *candidate_;
  if (c.opening.kind == Kind::python) return calls_of_python(rest().substr(0, c.scanned), *syntax_);
  const auto value = base::parse_json(c.value);
  if (!value.ok()) return std::nullopt;
  if (c.opening.kind == Kind::json) return calls_of_json(*value, *syntax_, c.opening.evidence);
  const AnswerSyntax::Tool* tool = syntax_->find(c.opening.name);
  if (tool == nullptr || !value->is_object()) return std::nullopt;
  return std::vector<ToolCall>{{tool->name, base::json_text(*value)}};
}

bool AnswerParser::read_enforced(AnswerPiece& piece) {
  if (skip_blanks_ && is_blank(rest().front())) {
    ++at_;
    return true;
  }
  skip_blanks_ = false;
  const char byte = rest().front();
  ++at_;
  switch (enforced_->push(byte)) {
    case EnforcedCalls::Found::nothing:
      break;
    case EnforcedCalls::Found::name:
      if (num_calls_ == 0) {
        add_call(piece, num_calls_++, enforced_->name(), "");
      } else {
        further_call_.emplace();
      }
      break;
    case EnforcedCalls::Found::arguments:
      if (!further_call_) {
        add_call(piece, num_calls_ - 1, "", {&byte, 1});
        break;
      }
      *further_call_ += byte;
      if (enforced_->in_arguments()) break;
      add_call(piece, num_calls_++, enforced_->name(), *further_call_);
      further_call_.reset();
      break;
    case EnforcedCalls::Found::stray:
      piece.content += byte;
      break;
  }
  return true;
}

}  // namespace kvasir::text
