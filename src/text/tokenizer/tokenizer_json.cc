#include "text/tokenizer/tokenizer_json.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/json.h"
#include "text/tokenizer/model_tables.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_image.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/tokenizer_source.h"

namespace kvasir::text {
namespace {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

// Reads a token of tokenizer_config.json: a text, or an object that contains the text.
std::optional<TokenId> configured_token(const json::object& config, std::string_view key,
                                        const TokenTable& table) {
  std::string text = json_text(config, key);
  if (const auto* object = json_object(config, key)) text = json_text(*object, "content");
  return text.empty() ? std::nullopt : table.find_added(text);
}

std::string configured_template(const json::object& config) {
  const auto* list = json_array(config, "chat_template");
  if (list == nullptr) return json_text(config, "chat_template");
  for (const json::value& item : *list) {
    const auto* object = item.if_object();
    if (object != nullptr && json_text(*object, "name") == "default") return json_text(*object, "template");
  }
  return {};
}

Status add_config(std::string_view config_json, TokenizerParts& parts) {
  if (config_json.empty()) return base::ok();
  TRY(const json::value value, base::parse_json(config_json));
  const auto* config = value.if_object();
  if (config == nullptr) return base::error(ErrorCode::corrupt, "tokenizer_config.json is not an object");
  if (const auto bos = configured_token(*config, "bos_token", *parts.table)) parts.bos = bos;
  if (const auto eos = configured_token(*config, "eos_token", *parts.table)) parts.eos = eos;
  parts.pad = configured_token(*config, "pad_token", *parts.table);
  if (const auto* add = config->if_contains("add_bos_token"); add != nullptr && add->is_bool()) {
    parts.add_bos = add->get_bool() && parts.bos.has_value();
  }
  parts.chat_template = configured_template(*config);
  return base::ok();
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> assemble(const json::object& file, const TableSource& tables_of,
                                                  const TokenizerTexts& texts) {
  TokenizerParts parts;
  TRY(parts.normalizer, read_normalizer(file));
  TRY(ReadPreTokenizer pre_tokenizer, read_pre_tokenizer(file));
  const ByteLevel byte_level = pre_tokenizer.byte_level ? ByteLevel::yes : ByteLevel::no;
  TRY(parts.decoder, read_decoder(file, byte_level));
  TRY(ModelTables tables, tables_of(byte_level, parts.decoder));
  TRY_OK(add_model(file, byte_level, std::move(tables), parts));
  parts.pre_tokenizer = std::move(pre_tokenizer.steps);
  TRY_OK(read_post_processor(file, parts));
  TRY_OK(add_config(texts.config_json, parts));
  if (!texts.chat_template.empty()) parts.chat_template = texts.chat_template;
  return std::make_shared<const Tokenizer>(std::move(parts));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_json,
                                                              std::string_view config_json,
                                                              std::string_view chat_template) {
  TRY(const TokenizerSource source, read_source(tokenizer_json));
  return assemble(
      source.rest,
      [&](ByteLevel byte_level, const Decoder& decoder) { return make_tables(source, byte_level, decoder); },
      {config_json, chat_template});
}

}  // namespace kvasir::text
