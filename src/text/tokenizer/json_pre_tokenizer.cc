#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/tokenizer_json.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

Status unknown(const json::object& node) {
  return base::error(ErrorCode::unsupported, "tokenizer.json: pre-tokenizer {}", json::serialize(node));
}

std::optional<SplitBehavior> behavior_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Isolated", SplitBehavior::isolated},
      {"Removed", SplitBehavior::removed},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous},
  }};
  for (const auto& [known, behavior] : kNames) {
    if (known == name) return behavior;
  }
  return std::nullopt;
}

// The pattern \w+|[^\w\s]+ with Rust's definition of \w.
constexpr const char* kWhitespacePattern =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";

class Reader {
 public:
  Status read(const json::object& node, int nesting) {
    const std::string type = json_text(node, "type");
    if (type == "Sequence") return read_sequence(node, nesting);
    if (type == "Split") return read_split(node);
    if (type == "Digits") {
      const bool individual = json_flag(node, "individual_digits");
      return add(kDigitPattern, individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
    }
    if (type == "ByteLevel") return read_byte_level(node);
    if (type == "Metaspace") return read_metaspace(node);
    if (type == "Punctuation") return read_punctuation(node);
    if (type == "BertPreTokenizer") {
      add_bert_splits(read_.steps);
      return base::ok();
    }
    if (type == "WhitespaceSplit") return add(kSpacesPattern, SplitBehavior::removed);
    if (type == "Whitespace") {
      TRY(Pattern pattern, Pattern::regex(kWhitespacePattern));
      read_.steps.add(SplitStep{std::move(pattern), SplitBehavior::removed, true});
      return base::ok();
    }
    if (type == "CharDelimiterSplit") {
      const std::string delimiter = json_text(node, "delimiter");
      if (delimiter.empty()) return unknown(node);
      read_.steps.add(SplitStep{Pattern::literal(delimiter), SplitBehavior::removed});
      return base::ok();
    }
    return unknown(node);
  }

  ReadPreTokenizer take() { return std::move(read_); }

 private:
  Status add(const char* expression, SplitBehavior behavior) {
    TRY(Pattern pattern, Pattern::regex(expression));
    read_.steps.add(SplitStep{std::move(pattern), behavior});
    return base::ok();
  }

  Status read_sequence(const json::object& node, int nesting) {
    const auto* list = json_array(node, "pretokenizers");
    if (list == nullptr || nesting >= kMaxJsonNesting)
      return base::error(ErrorCode::corrupt, "tokenizer.json: a pre-tokenizer sequence has no list");
    for (const json::value& item : *list) {
      const auto* part = item.if_object();
      if (part == nullptr)
        return base::error(ErrorCode::corrupt, "tokenizer.json: a pre-tokenizer is no object");
      TRY_OK(read(*part, nesting + 1));
    }
    return base::ok();
  }

  Status read_split(const json::object& node) {
    const auto* pattern = json_object(node, "pattern");
    const auto behavior = behavior_named(json_text(node, "behavior"));
    if (pattern == nullptr || !behavior) return unknown(node);
    const std::string expression = json_text(*pattern, "Regex");
    const std::string text = json_text(*pattern, "String");
    if (expression.empty() == text.empty()) return unknown(node);
    TRY(Pattern compiled, expression.empty() ? Pattern::literal(text) : Pattern::regex(expression));
    read_.steps.add(SplitStep{std::move(compiled), *behavior, json_flag(node, "invert")});
    return base::ok();
  }

  Status read_byte_level(const json::object& node) {
    read_.byte_level = true;
    if (json_flag_or(node, "add_prefix_space", true)) read_.steps.add(PrefixSpaceStep{});
    return json_flag_or(node, "use_regex", true) ? add(kGpt2Pattern, SplitBehavior::isolated) : base::ok();
  }

  // Older files have add_prefix_space instead of the scheme "always" or "never".
  Status read_metaspace(const json::object& node) {
    using Prefix = SpaceMarkStep::Prefix;
    SpaceMarkStep step{.mark = json_text(node, "replacement")};
    if (step.mark.empty()) step.mark = kSpaceMark;
    if (base::utf8_step(step.mark).size != step.mark.size()) return unknown(node);
    const std::string scheme = json_text(node, "prepend_scheme");
    if (scheme == "first") {
      step.prefix = Prefix::first;
    } else if (scheme == "never" || !json_flag_or(node, "add_prefix_space", true)) {
      step.prefix = Prefix::never;
    } else if (!scheme.empty() && scheme != "always") {
      return unknown(node);
    }
    step.split = json_flag_or(node, "split", true);
    read_.steps.add(std::move(step));
    return base::ok();
  }

  Status read_punctuation(const json::object& node) {
    const std::string name = json_text(node, "behavior");
    const auto behavior = name.empty() ? SplitBehavior::isolated : behavior_named(name);
    if (!behavior) return unknown(node);
    read_.steps.add(SplitStep{Pattern::character(is_punctuation), *behavior});
    return base::ok();
  }

  ReadPreTokenizer read_;
};

}  // namespace

Result<ReadPreTokenizer> read_pre_tokenizer(const json::object& file) {
  Reader reader;
  if (const auto* node = json_object(file, "pre_tokenizer")) TRY_OK(reader.read(*node, 0));
  ReadPreTokenizer read = reader.take();
  if (read.steps.num_steps() > kMaxSteps)
    return base::error(ErrorCode::unsupported, "tokenizer.json: a pre-tokenizer of {} steps",
                       read.steps.num_steps());
  return read;
}

}  // namespace kvasir::text
