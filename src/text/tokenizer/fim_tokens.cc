#include "text/tokenizer/fim_tokens.h"

#include <span>
#include <string_view>

#include "text/tokenizer/token_table.h"

namespace kvasir::text {
namespace {

struct Family {
  std::string_view prefix;
  std::string_view suffix;
  std::string_view middle;
};

constexpr Family kFamilies[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},     // Qwen, CodeGemma, Granite 4
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},           // StarCoder, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},           // SantaCoder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},     // DeepSeek
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},                             // CodeLlama
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},  // GLM
};
constexpr std::string_view kPads[] = {"<|fim_pad|>", "<fim_pad>", "<fim-pad>"};
constexpr std::string_view kRepositories[] = {"<|repo_name|>", "<repo_name>"};
constexpr std::string_view kFiles[] = {"<|file_sep|>", "<|file_separator|>", "<file_sep>"};

std::optional<TokenId> find(const TokenTable& table, std::string_view name) {
  const auto added = table.find_added(name);
  return added ? added : table.find_piece(name);
}

std::optional<TokenId> find_any(const TokenTable& table, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto id = find(table, name)) return id;
  return std::nullopt;
}

}  // namespace

std::vector<TokenId> FimTokens::all() const {
  std::vector<TokenId> tokens{prefix, suffix, middle};
  for (const auto& other : {pad, repository, file})
    if (other) tokens.push_back(*other);
  return tokens;
}

std::optional<FimTokens> find_fim_tokens(const TokenTable& table, const FimIds& named) {
  FimIds ids = named;
  for (const Family& family : kFamilies) {
    if (ids.prefix && ids.suffix && ids.middle) break;
    const auto prefix = find(table, family.prefix);
    const auto suffix = find(table, family.suffix);
    const auto middle = find(table, family.middle);
    if (!prefix || !suffix || !middle) continue;
    if (!ids.prefix) ids.prefix = prefix;
    if (!ids.suffix) ids.suffix = suffix;
    if (!ids.middle) ids.middle = middle;
  }
  if (!ids.prefix || !ids.suffix || !ids.middle) return std::nullopt;
  return FimTokens{.prefix = *ids.prefix,
                   .suffix = *ids.suffix,
                   .middle = *ids.middle,
                   .pad = ids.pad ? ids.pad : find_any(table, kPads),
                   .repository = ids.repository ? ids.repository : find_any(table, kRepositories),
                   .file = ids.file ? ids.file : find_any(table, kFiles)};
}

}  // namespace kvasir::text
