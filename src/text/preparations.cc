#include <array>
#include <utility>

#include "text/pre_tokenizer.h"

namespace kvasir::text {

namespace {

constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kDeepSeekHan = "[一-龥぀-ゟ゠-ヿ]+";
constexpr const char* kDeepSeek3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Named {
  const char* name;
  std::array<const char*, 3> patterns;  // unused ones null
  bool nfc = false;
  bool ignore_merges = false;
};

constexpr Named kPreparations[] = {
    {"gpt-2", {kByteLevelPattern}},
    {"default", {kByteLevelPattern}},
    {"olmo", {kByteLevelPattern}},
    {"phi-2", {kByteLevelPattern}},
    {"jina-es", {kByteLevelPattern}},
    {"jina-de", {kByteLevelPattern}},
    {"roberta-bpe", {kByteLevelPattern}},
    {"smollm", {kDigitPattern, kByteLevelPattern}},
    {"starcoder", {kDigitPattern, kByteLevelPattern}},
    {"refact", {kDigitPattern, kByteLevelPattern}},
    {"codeshell", {kDigitPattern, kByteLevelPattern}},
    {"exaone", {kDigitPattern, kByteLevelPattern}},
    {"qwen2", {kQwen2}, true},
    {"deepseek-r1-qwen", {kQwen2}, true},
    {"megrez", {kQwen2}, true},
    {"stablelm2", {kQwen2}, true},
    {"llama-bpe", {kLlama3}, false, true},
    {"llama3", {kLlama3}, false, true},
    {"llama-v3", {kLlama3}, false, true},
    {"falcon3", {kLlama3}},
    {"smaug-bpe", {kLlama3}},
    {"dbrx", {kLlama3}},
    {"gpt-4o", {kGpt4o}},
    {"llama4", {kGpt4o}},
    {"tekken", {kTekken}, false, true},
    {"deepseek-v3", {"\\p{N}{1,3}", kDeepSeekHan, kDeepSeek3Words}},
};

}  // namespace

base::Result<Preparation> preparation_named(std::string_view pre) {
  if (pre.empty()) pre = "default";
  for (const Named& named : kPreparations) {
    if (pre != named.name) continue;
    Preparation preparation{.ignore_merges = named.ignore_merges};
    if (named.nfc) preparation.normalizer.push_back({.kind = NormalizerStep::Kind::nfc});
    for (const char* pattern : named.patterns) {
      if (pattern == nullptr) continue;
      TRY(auto regex, Regex::compile(pattern));
      preparation.pre_tokenizer.add({.pattern = std::move(regex)});
    }
    return preparation;
  }
  return base::error(base::ErrorCode::unsupported, "tokenizer.ggml.pre \"{}\" is not one that Kvasir knows",
                     pre);
}

base::Status add_bert_splits(PreTokenizer& pre_tokenizer) {
  TRY(Regex space, Regex::compile(R"(\s+)"));
  pre_tokenizer.add({.pattern = std::move(space), .behavior = SplitBehavior::removed});
  TRY(Regex punctuation, Regex::compile(R"([!-/:-@\[-`{-~\p{P}])"));
  pre_tokenizer.add({.pattern = std::move(punctuation)});
  return base::ok();
}

}  // namespace kvasir::text
