#include <array>
#include <optional>
#include <utility>

#include "text/tokenizer_json.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

const json::object* json_object(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

const json::array* json_array(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? value->if_array() : nullptr;
}

std::string json_text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
}

bool json_flag(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

namespace {

// Sequences inside sequences go no deeper than any real file.
constexpr int kMaxNesting = 8;

void add_bert_normalizer(const json::object& node, std::vector<NormalizerStep>& steps) {
  const bool lowercase = json_flag(node, "lowercase");
  const json::value* accents = node.if_contains("strip_accents");
  const bool says = accents != nullptr && accents->is_bool();
  using Kind = NormalizerStep::Kind;
  if (json_flag(node, "clean_text")) steps.push_back({.kind = Kind::clean});
  if (json_flag(node, "handle_chinese_chars")) steps.push_back({.kind = Kind::space_ideographs});
  if (says ? accents->get_bool() : lowercase) steps.push_back({.kind = Kind::strip_accents});
  if (lowercase) steps.push_back({.kind = Kind::lowercase});
}

Status add_normalizer(const json::object& node, int nesting, std::vector<NormalizerStep>& steps) {
  const std::string type = json_text(node, "type");
  if (type == "Sequence" && nesting < kMaxNesting) {
    const auto* list = json_array(node, "normalizers");
    if (list == nullptr)
      return base::error(ErrorCode::corrupt, "tokenizer.json: a normalizer sequence has no list");
    for (const json::value& item : *list) {
      const auto* part = item.if_object();
      if (part == nullptr)
        return base::error(ErrorCode::corrupt, "tokenizer.json: a normalizer is no object");
      TRY_OK(add_normalizer(*part, nesting + 1, steps));
    }
    return base::ok();
  }
  if (type == "NFC") {
    steps.push_back({.kind = NormalizerStep::Kind::nfc});
    return base::ok();
  }
  if (type == "BertNormalizer") {
    add_bert_normalizer(node, steps);
    return base::ok();
  }
  if (type == "Lowercase") {
    steps.push_back({.kind = NormalizerStep::Kind::lowercase});
    return base::ok();
  }
  if (type == "Prepend") {
    steps.push_back({.kind = NormalizerStep::Kind::prepend, .from = {}, .to = json_text(node, "prepend")});
    return base::ok();
  }
  if (type == "Replace") {
    const auto* pattern = json_object(node, "pattern");
    const std::string from = pattern != nullptr ? json_text(*pattern, "String") : std::string();
    if (!from.empty()) {
      steps.push_back(
          {.kind = NormalizerStep::Kind::replace, .from = from, .to = json_text(node, "content")});
      return base::ok();
    }
  }
  return base::error(ErrorCode::unsupported, "tokenizer.json: normalizer {}", json::serialize(node));
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

Result<SplitStep> split_step(const json::object& node) {
  const auto* pattern = json_object(node, "pattern");
  const auto behavior = behavior_named(json_text(node, "behavior"));
  if (pattern == nullptr || !behavior) {
    return base::error(ErrorCode::unsupported, "tokenizer.json: pre-tokenizer {}", json::serialize(node));
  }
  std::string expression = json_text(*pattern, "Regex");
  if (expression.empty()) expression = Regex::escape(json_text(*pattern, "String"));
  TRY(Regex regex, Regex::compile(expression));
  return SplitStep{.pattern = std::move(regex), .behavior = *behavior, .invert = json_flag(node, "invert")};
}

class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(TokenizerParts& parts) : parts_(parts) {}

  Status read(const json::object& node, int nesting) {
    const std::string type = json_text(node, "type");
    if (type == "Sequence" && nesting < kMaxNesting) return read_sequence(node, nesting);
    if (type == "Split") {
      TRY(SplitStep step, split_step(node));
      return add(std::move(step));
    }
    if (type == "Digits") {
      TRY(Regex regex, Regex::compile(kDigitPattern));
      const bool individual = json_flag(node, "individual_digits");
      return add({.pattern = std::move(regex),
                  .behavior = individual ? SplitBehavior::isolated : SplitBehavior::contiguous});
    }
    if (type == "ByteLevel") return read_byte_level(node);
    if (type == "BertPreTokenizer") {
      first_ = false;
      return add_bert_splits(parts_.pre_tokenizer);
    }
    return base::error(ErrorCode::unsupported, "tokenizer.json: pre-tokenizer {}", json::serialize(node));
  }

  bool is_byte_level() const { return byte_level_; }

 private:
  Status add(SplitStep step) {
    parts_.pre_tokenizer.add(std::move(step));
    first_ = false;
    return base::ok();
  }

  Status read_sequence(const json::object& node, int nesting) {
    const auto* list = json_array(node, "pretokenizers");
    if (list == nullptr) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: a pre-tokenizer sequence has no list");
    }
    for (const json::value& item : *list) {
      const auto* part = item.if_object();
      if (part == nullptr)
        return base::error(ErrorCode::corrupt, "tokenizer.json: a pre-tokenizer is no object");
      TRY_OK(read(*part, nesting + 1));
    }
    return base::ok();
  }

  Status read_byte_level(const json::object& node) {
    byte_level_ = true;
    if (json_flag(node, "add_prefix_space")) {
      if (!first_) {
        return base::error(ErrorCode::unsupported, "tokenizer.json: add_prefix_space behind another split");
      }
      parts_.normalizer.push_back({.kind = NormalizerStep::Kind::prefix_space});
    }
    const json::value* use_regex = node.if_contains("use_regex");
    if (use_regex != nullptr && use_regex->is_bool() && !use_regex->get_bool()) return base::ok();
    TRY(Regex regex, Regex::compile(kByteLevelPattern));
    return add({.pattern = std::move(regex)});
  }

  TokenizerParts& parts_;
  bool first_ = true;
  bool byte_level_ = false;
};

std::optional<TokenId> special_token(const json::value& part, const TokenTable& table) {
  const auto* object = part.if_object();
  const auto* token = object != nullptr ? json_object(*object, "SpecialToken") : nullptr;
  return token != nullptr ? table.find_added(json_text(*token, "id")) : std::nullopt;
}

// ["[CLS]", 101]
std::optional<TokenId> paired_token(const json::object& node, std::string_view key, const TokenTable& table) {
  const auto* pair = json_array(node, key);
  const auto* text = pair != nullptr && !pair->empty() ? pair->front().if_string() : nullptr;
  return text != nullptr ? table.find_added(*text) : std::nullopt;
}

// A template that puts a special token before the text, behind it, or both.
void read_post_processor(const json::object& node, int nesting, TokenizerParts& parts) {
  if (const auto* list = json_array(node, "processors"); list != nullptr && nesting < kMaxNesting) {
    for (const json::value& item : *list) {
      if (const auto* part = item.if_object()) read_post_processor(*part, nesting + 1, parts);
    }
    return;
  }
  const std::string type = json_text(node, "type");
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.bos = paired_token(node, "cls", *parts.table);
    parts.eos = paired_token(node, "sep", *parts.table);
    parts.add_bos = parts.bos.has_value();
    parts.add_eos = parts.eos.has_value();
    return;
  }
  const auto* single = json_array(node, "single");
  if (type != "TemplateProcessing" || single == nullptr || single->empty()) return;
  if (const auto first = special_token(single->front(), *parts.table)) {
    parts.bos = first;
    parts.add_bos = true;
  }
  if (single->size() < 2) return;
  if (const auto last = special_token(single->back(), *parts.table)) {
    parts.eos = last;
    parts.add_eos = true;
  }
}

}  // namespace

Status add_preparation(const json::object& file, TokenizerParts& parts) {
  if (const auto* normalizer = json_object(file, "normalizer")) {
    TRY_OK(add_normalizer(*normalizer, 0, parts.normalizer));
  }
  PreTokenizerReader reader(parts);
  if (const auto* pre_tokenizer = json_object(file, "pre_tokenizer")) TRY_OK(reader.read(*pre_tokenizer, 0));
  if (parts.model && !reader.is_byte_level()) {
    return base::error(ErrorCode::unsupported, "tokenizer.json: a BPE that is not byte-level");
  }
  if (const auto* processor = json_object(file, "post_processor")) read_post_processor(*processor, 0, parts);
  return base::ok();
}

}  // namespace kvasir::text
