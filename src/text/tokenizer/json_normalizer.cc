#include <algorithm>
#include <memory>
#include <utility>

#include "text/tokenizer/token_table.h"
#include "text/tokenizer/tokenizer_json.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

using Steps = std::vector<NormalizerStep>;
using Kind = NormalizerStep::Kind;

void add_bert(const json::object& node, Steps& steps) {
  const bool lowercase = json_flag_or(node, "lowercase", true);
  const bool strips = json_flag_or(node, "strip_accents", lowercase);
  if (json_flag_or(node, "clean_text", true)) steps.push_back({.kind = Kind::clean});
  if (json_flag_or(node, "handle_chinese_chars", true)) steps.push_back({.kind = Kind::space_ideographs});
  if (strips) {
    steps.push_back({.kind = Kind::nfd});
    steps.push_back({.kind = Kind::strip_marks});
  }
  if (lowercase) steps.push_back({.kind = Kind::lowercase});
}

Status add_replace(const json::object& node, Steps& steps) {
  const auto* pattern = json_object(node, "pattern");
  const std::string from = pattern != nullptr ? json_text(*pattern, "String") : std::string();
  const std::string expression = pattern != nullptr ? json_text(*pattern, "Regex") : std::string();
  std::string to = json_text(node, "content");
  if (!from.empty()) {
    steps.push_back({.kind = Kind::replace, .from = from, .to = std::move(to)});
    return base::ok();
  }
  if (expression.empty())
    return base::error(ErrorCode::unsupported, "tokenizer.json: normalizer {}", json::serialize(node));
  TRY(Pattern compiled, Pattern::regex(expression));
  steps.push_back({.kind = Kind::replace_matches,
                   .to = std::move(to),
                   .pattern = std::make_shared<const Pattern>(std::move(compiled))});
  return base::ok();
}

Status add_chars_map(const json::object& node, Steps& steps) {
  TRY(const std::string bytes, decode_base64(json_text(node, "precompiled_charsmap")));
  TRY(CharsMap map, CharsMap::parse(bytes));
  steps.push_back({.kind = Kind::chars_map, .map = std::make_shared<const CharsMap>(std::move(map))});
  return base::ok();
}

Status add(const json::object& node, int nesting, Steps& steps);

Status add_sequence(const json::object& node, int nesting, Steps& steps) {
  const auto* list = json_array(node, "normalizers");
  if (list == nullptr || nesting >= kMaxJsonNesting)
    return base::error(ErrorCode::corrupt, "tokenizer.json: a normalizer sequence has no list");
  for (const json::value& item : *list) {
    const auto* part = item.if_object();
    if (part == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json: a normalizer is no object");
    TRY_OK(add(*part, nesting + 1, steps));
  }
  return base::ok();
}

Status add(const json::object& node, int nesting, Steps& steps) {
  const std::string type = json_text(node, "type");
  constexpr std::pair<std::string_view, Kind> kPlain[] = {{"NFC", Kind::nfc},
                                                          {"NFD", Kind::nfd},
                                                          {"NFKC", Kind::nfkc},
                                                          {"NFKD", Kind::nfkd},
                                                          {"Nmt", Kind::nmt},
                                                          {"StripAccents", Kind::strip_all_marks},
                                                          {"Lowercase", Kind::lowercase}};
  for (const auto& [name, kind] : kPlain) {
    if (type != name) continue;
    steps.push_back({.kind = kind});
    return base::ok();
  }
  if (type == "Sequence") return add_sequence(node, nesting, steps);
  if (type == "Replace") return add_replace(node, steps);
  if (type == "Precompiled") return add_chars_map(node, steps);
  if (type == "BertNormalizer") {
    add_bert(node, steps);
  } else if (type == "Prepend") {
    steps.push_back({.kind = Kind::prepend, .to = json_text(node, "prepend")});
  } else if (type == "Strip") {
    if (json_flag_or(node, "strip_left", true)) steps.push_back({.kind = Kind::strip_left});
    if (json_flag_or(node, "strip_right", true)) steps.push_back({.kind = Kind::strip_right});
  } else {
    return base::error(ErrorCode::unsupported, "tokenizer.json: normalizer {}", json::serialize(node));
  }
  return base::ok();
}

// Returns the factor by which a step can lengthen a text.
double growth(const NormalizerStep& step) {
  constexpr double kCompatibility = 11;  // U+FDFA
  constexpr double kCanonical = 3;
  const auto length = static_cast<double>(step.to.size());
  switch (step.kind) {
    case Kind::nfkc:
    case Kind::nfkd:
      return kCompatibility;
    case Kind::nfc:
    case Kind::nfd:
    case Kind::lowercase:
    case Kind::space_ideographs:
      return kCanonical;
    case Kind::replace:
      return std::max(1.0, length / static_cast<double>(step.from.size()));
    case Kind::replace_matches:
      return std::max(1.0, length);
    case Kind::chars_map:
      return static_cast<double>(std::max<std::size_t>(1, step.map->longest_replacement()));
    default:
      return 1;
  }
}

// Refuses steps that replace each other's results until a text fills the memory. Real files stay far below
// this limit.
Status check_growth(const Steps& steps) {
  constexpr double kMaxGrowth = 1 << 14;
  double whole = 1;
  for (const NormalizerStep& step : steps) {
    whole *= growth(step);
    if (whole > kMaxGrowth || (step.kind == Kind::prepend && step.to.size() > TokenTable::kMaxTokenBytes))
      return base::error(ErrorCode::unsupported,
                         "tokenizer.json: a normalizer that can make a text {} times longer", kMaxGrowth);
  }
  return base::ok();
}

}  // namespace

Result<Steps> read_normalizer(const json::object& file) {
  Steps steps;
  if (const auto* node = json_object(file, "normalizer")) TRY_OK(add(*node, 0, steps));
  TRY_OK(check_growth(steps));
  if (steps.size() > kMaxSteps)
    return base::error(ErrorCode::unsupported, "tokenizer.json: a normalizer of {} steps", steps.size());
  return steps;
}

}  // namespace kvasir::text
