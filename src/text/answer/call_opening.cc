#include "text/answer/call_opening.h"

#include <algorithm>
#include <array>
#include <span>

namespace kvasir::text {
namespace {

using Kind = CallOpening::Kind;

constexpr std::size_t kMaxLead = 512;  // bytes before the JSON of a call
constexpr std::array<std::string_view, 5> kFenceWords{"", "json", "JSON", "tool_call", "tool_calls"};

CallOpening wait_or_none(More more) {
  return {.kind = more == More::may_come ? Kind::wait : Kind::none};
}

// Reads a text from its beginning. `ended` is set once the reader needs text that has not come yet.
struct Lead {
  std::string_view text;
  std::size_t at = 0;
  bool ended = false;

  std::string_view rest() const { return text.substr(at); }
  bool take(std::string_view marker) {
    if (rest().starts_with(marker)) {
      at += marker.size();
      return true;
    }
    if (marker.starts_with(rest())) ended = true;
    return false;
  }
  void skip_blanks() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
    if (at == text.size()) ended = true;
  }
  bool next_is(std::string_view any_of) const {
    return at < text.size() && any_of.find(text[at]) != std::string_view::npos;
  }
  // Takes the text up to and including the marker. Returns what is before the marker.
  std::string_view until(std::string_view marker) {
    const std::size_t found = rest().find(marker);
    if (found == std::string_view::npos) {
      ended = true;
      return {};
    }
    const std::string_view word = rest().substr(0, found);
    at += found + marker.size();
    return word;
  }
};

// Decides whether the text has reached the call's value, may still reach it, or cannot.
CallOpening opened(const Lead& lead, CallOpening opening, More more, std::string_view begins_with = "{") {
  if (lead.ended) return lead.text.size() > kMaxLead ? CallOpening{} : wait_or_none(more);
  if (!lead.next_is(begins_with) || lead.at > kMaxLead) return {};
  opening.length = lead.at;
  return opening;
}

CallOpening hermes_opening(std::string_view text, More more) {
  Lead lead{text};
  if (!lead.take("<tool_call>")) return lead.ended ? wait_or_none(more) : CallOpening{};
  lead.skip_blanks();
  return opened(lead, {.kind = Kind::json, .evidence = CallEvidence::marked}, more, "{[");
}

CallOpening mistral_opening(std::string_view text, const AnswerSyntax& syntax, More more) {
  Lead lead{text};
  if (!lead.take("[TOOL_CALLS]")) return lead.ended ? wait_or_none(more) : CallOpening{};
  lead.skip_blanks();
  CallOpening opening{.kind = Kind::json, .evidence = CallEvidence::marked};
  if (lead.ended || lead.next_is("{[")) return opened(lead, opening, more, "{[");
  const std::size_t end = lead.rest().find_first_of("[{");
  opening.kind = Kind::named;
  opening.name = lead.rest().substr(0, std::min(end, lead.rest().size()));
  if (end == std::string_view::npos) {
    lead.ended = true;
    return opened(lead, opening, more);
  }
  if (syntax.find(opening.name) == nullptr) return {};
  lead.at += end;
  if (lead.next_is("[")) lead.until("[ARGS]");
  if (!lead.ended) lead.skip_blanks();
  return opened(lead, opening, more);
}

CallOpening deepseek_opening(std::string_view text, const AnswerSyntax& syntax, More more) {
  Lead lead{text};
  if (lead.take("<｜tool▁calls▁begin｜>")) lead.skip_blanks();
  if (lead.ended) return opened(lead, {}, more);
  if (!lead.take("<｜tool▁call▁begin｜>")) return lead.ended ? wait_or_none(more) : CallOpening{};
  CallOpening opening{.kind = Kind::named, .evidence = CallEvidence::marked};
  opening.name = lead.until("<｜tool▁sep｜>");
  const bool fenced = !lead.ended && opening.name == "function";
  if (fenced) opening.name = lead.until("\n");
  if (!lead.ended && syntax.find(opening.name) == nullptr) return {};
  if (!lead.ended) lead.skip_blanks();
  if (fenced && !lead.ended && lead.take("```json")) lead.skip_blanks();
  return opened(lead, opening, more);
}

CallOpening marker_opening(std::string_view text, const AnswerSyntax& syntax, More more) {
  switch (syntax.syntax) {
    case ToolSyntax::hermes:
      return hermes_opening(text, more);
    case ToolSyntax::mistral:
      return mistral_opening(text, syntax, more);
    case ToolSyntax::deepseek:
      return deepseek_opening(text, syntax, more);
    case ToolSyntax::llama:
    case ToolSyntax::pythonic:
      break;
  }
  Lead lead{text};
  for (const std::string_view marker : special_markers(syntax.syntax))
    if (lead.take(marker)) return {.kind = Kind::ignored, .length = marker.size()};
  return lead.ended ? wait_or_none(more) : CallOpening{};
}

CallOpening fence_opening(std::string_view text, More more) {
  Lead lead{text};
  if (!lead.take("```")) return lead.ended ? wait_or_none(more) : CallOpening{};
  const std::string_view info = lead.rest().substr(0, lead.rest().find('\n'));
  if (info.size() == lead.rest().size()) {
    const bool possible = std::ranges::any_of(kFenceWords, [&](auto word) { return word.starts_with(info); });
    return possible ? wait_or_none(more) : CallOpening{};
  }
  if (std::ranges::find(kFenceWords, info) == kFenceWords.end()) return {};
  lead.at += info.size() + 1;
  lead.skip_blanks();
  return opened(lead, {.kind = Kind::json, .fenced = true}, more, "{[");
}

CallOpening bare_opening(std::string_view text, const AnswerSyntax& syntax, More more) {
  if (text.front() != '{' && text.front() != '[') return {};
  const bool own_way = syntax.syntax == ToolSyntax::llama || syntax.syntax == ToolSyntax::pythonic;
  const CallOpening json{.kind = Kind::json,
                         .evidence = own_way ? CallEvidence::marked : CallEvidence::resembling};
  if (syntax.syntax != ToolSyntax::pythonic || text.front() == '{') return json;
  Lead lead{text, 1};
  lead.skip_blanks();
  if (lead.ended) return wait_or_none(more);
  if (lead.next_is("{[")) return json;
  const std::string_view rest = lead.rest();
  const std::string_view name = rest.substr(0, rest.find('('));
  if (syntax.find(name) != nullptr && name.size() < rest.size()) return {.kind = Kind::python};
  const bool possible =
      name.size() == rest.size() &&
      std::ranges::any_of(syntax.tools, [&](const auto& tool) { return tool.name.starts_with(name); });
  return possible ? wait_or_none(more) : CallOpening{};
}

}  // namespace

CallOpening opening_of(std::string_view text, const AnswerSyntax& syntax, Place place, More more) {
  CallOpening opening = marker_opening(text, syntax, more);
  if (opening.kind != Kind::none || place == Place::within_line) return opening;
  opening = fence_opening(text, more);
  if (opening.kind != Kind::none) return opening;
  return bare_opening(text, syntax, more);
}

std::size_t trailer_length(std::string_view text, const AnswerSyntax& syntax, More more) {
  static constexpr std::array<std::string_view, 3> kHermes{"</tool_call>", ";", ","};
  static constexpr std::array<std::string_view, 4> kDeepseek{"```", "<｜tool▁call▁end｜>",
                                                             "<｜tool▁calls▁end｜>", ","};
  static constexpr std::array<std::string_view, 2> kOthers{";", ","};
  const auto trailers = syntax.syntax == ToolSyntax::hermes     ? std::span<const std::string_view>(kHermes)
                        : syntax.syntax == ToolSyntax::deepseek ? std::span<const std::string_view>(kDeepseek)
                                                                : std::span<const std::string_view>(kOthers);
  Lead lead{text};
  for (const std::string_view trailer : trailers)
    if (lead.take(trailer)) return trailer.size();
  return lead.ended && more == More::may_come ? std::string_view::npos : 0;
}

}  // namespace kvasir::text
