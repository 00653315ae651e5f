#include <utility>

#include "text/tokenizer/tokenizer_json.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Status;
namespace json = base::json;

namespace {

Status add_id(const json::value& value, const TokenTable& table, std::vector<TokenId>& ids) {
  if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() >= table.size())
    return base::error(ErrorCode::corrupt, "tokenizer.json: the post-processor's token {} is none",
                       json::serialize(value));
  ids.push_back(static_cast<TokenId>(value.get_int64()));
  return base::ok();
}

// Reads a pair such as ["[CLS]", 101].
Status add_pair(const json::object& node, std::string_view key, const TokenTable& table,
                std::vector<TokenId>& ids) {
  const auto* pair = json_array(node, key);
  if (pair == nullptr || pair->size() != 2)
    return base::error(ErrorCode::corrupt, "tokenizer.json: the post-processor has no {}", key);
  return add_id((*pair)[1], table, ids);
}

// Reads {"SpecialToken": {"id": "[CLS]"}}. `special_tokens` in the file lists the ids of such a name.
Status add_named(const json::object& node, const std::string& name, const TokenTable& table,
                 std::vector<TokenId>& ids) {
  const auto* names = json_object(node, "special_tokens");
  const auto* entry = names != nullptr ? json_object(*names, name) : nullptr;
  const auto* list = entry != nullptr ? json_array(*entry, "ids") : nullptr;
  if (list != nullptr) {
    for (const json::value& id : *list) TRY_OK(add_id(id, table, ids));
    return base::ok();
  }
  const auto id = table.find_added(name);
  if (!id)
    return base::error(ErrorCode::corrupt, "tokenizer.json: the post-processor's \"{}\" is no token", name);
  ids.push_back(*id);
  return base::ok();
}

Status read_template(const json::object& node, TokenizerParts& parts) {
  const auto* single = json_array(node, "single");
  if (single == nullptr)
    return base::error(ErrorCode::corrupt, "tokenizer.json: a template without \"single\"");
  std::vector<TokenId> before;
  std::vector<TokenId> behind;
  bool seen = false;
  for (const json::value& item : *single) {
    const auto* piece = item.if_object();
    const auto* token = piece != nullptr ? json_object(*piece, "SpecialToken") : nullptr;
    if (token == nullptr) {
      seen = true;
      continue;
    }
    TRY_OK(add_named(node, json_text(*token, "id"), *parts.table, seen ? behind : before));
  }
  parts.before_text.insert(parts.before_text.begin(), before.begin(), before.end());
  parts.behind_text.insert(parts.behind_text.end(), behind.begin(), behind.end());
  return base::ok();
}

Status read(const json::object& node, int nesting, TokenizerParts& parts) {
  const std::string type = json_text(node, "type");
  if (type == "Sequence") {
    const auto* list = json_array(node, "processors");
    if (list == nullptr || nesting >= kMaxJsonNesting)
      return base::error(ErrorCode::corrupt, "tokenizer.json: a post-processor sequence has no list");
    for (const json::value& item : *list) {
      if (const auto* part = item.if_object()) TRY_OK(read(*part, nesting + 1, parts));
    }
    return base::ok();
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    TRY_OK(add_pair(node, "cls", *parts.table, parts.before_text));
    return add_pair(node, "sep", *parts.table, parts.behind_text);
  }
  if (type == "TemplateProcessing") return read_template(node, parts);
  if (type == "ByteLevel") return base::ok();  // this type only adjusts offsets
  return base::error(ErrorCode::unsupported, "tokenizer.json: post-processor \"{}\"", type);
}

}  // namespace

Status read_post_processor(const json::object& file, TokenizerParts& parts) {
  if (const auto* node = json_object(file, "post_processor")) TRY_OK(read(*node, 0, parts));
  if (!parts.before_text.empty()) {
    parts.bos = parts.before_text.front();
    parts.add_bos = true;
  }
  if (!parts.behind_text.empty()) {
    parts.eos = parts.behind_text.back();
    parts.add_eos = true;
  }
  return base::ok();
}

}  // namespace kvasir::text
