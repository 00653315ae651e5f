#include <array>
#include <string>
#include <utility>

#include "text/tokenizer/pre_tokenizer.h"

namespace kvasir::text {

namespace {

constexpr const char* kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr const char* kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";

struct Named {
  const char* name;
  std::array<const char*, 3> patterns;  // unused entries are null
  bool nfc = false;
  bool ignore_merges = false;
};

constexpr Named kPreparations[] = {
    {"gpt-2", {kGpt2Pattern}},
    {"default", {kGpt2Pattern}},
    {"olmo", {kGpt2Pattern}},
    {"phi-2", {kGpt2Pattern}},
    {"mpt", {kGpt2Pattern}},
    {"jais", {kGpt2Pattern}},
    {"trillion", {kGpt2Pattern}},
    {"granite-docling", {kGpt2Pattern}},
    {"jina-es", {kGpt2Pattern}},
    {"jina-de", {kGpt2Pattern}},
    {"jina-v1-en", {kGpt2Pattern}},
    {"jina-v2-es", {kGpt2Pattern}},
    {"jina-v2-de", {kGpt2Pattern}},
    {"jina-v2-code", {kGpt2Pattern}},
    {"roberta-bpe", {kGpt2Pattern}},
    {"smollm", {kDigitPattern, kGpt2Pattern}},
    {"starcoder", {kDigitPattern, kGpt2Pattern}},
    {"refact", {kDigitPattern, kGpt2Pattern}},
    {"codeshell", {kDigitPattern, kGpt2Pattern}},
    {"command-r", {kDigitPattern, kGpt2Pattern}},
    {"minerva-7b", {kDigitPattern, kGpt2Pattern}},
    {"exaone", {kDigitPattern, kGpt2Pattern}},
    {"qwen2", {kQwen2Pattern}, true},
    {"deepseek-r1-qwen", {kQwen2Pattern}, true},
    {"megrez", {kQwen2Pattern}, true},
    {"stablelm2", {kQwen2Pattern}, true},
    {"hunyuan", {kQwen2Pattern}, true},
    {"grok-2", {kQwen2Pattern}},
    {"qwen35", {kQwen35Pattern}, true},
    {"llama-bpe", {kLlama3Pattern}, false, true},
    {"llama3", {kLlama3Pattern}, false, true},
    {"llama-v3", {kLlama3Pattern}, false, true},
    {"falcon3", {kLlama3Pattern}},
    {"smaug-bpe", {kLlama3Pattern}},
    {"dbrx", {kLlama3Pattern}},
    {"chatglm-bpe", {kLlama3Pattern}},
    {"glm4", {kLlama3Pattern}},
    {"gpt-4o", {kO200kPattern}},
    {"llama4", {kO200kPattern}},
    {"minimax-m2", {kO200kPattern}},
    {"tekken", {kTekkenPattern}, false, true},
    {"seed-coder", {kSeedCoder}},
    {"bailingmoe", {kBailing}},
    {"bloom", {kBloom}},
    {"gpt3-finnish", {kBloom}},
    {"poro-chat", {kBloom}},
    {"viking", {kBloom, kDigitPattern}},
    {"deepseek-v3", {kThreeDigitsPattern, kDeepSeekHanPattern, kDeepSeekPattern}},
    {"hunyuan-dense", {kThreeDigitsPattern, kDeepSeekHanPattern, kDeepSeekPattern}},
};

}  // namespace

base::Result<Preparation> preparation_named(std::string_view pre) {
  if (pre.empty()) pre = "default";
  for (const Named& named : kPreparations) {
    if (pre != named.name) continue;
    Preparation preparation;
    preparation.ignore_merges = named.ignore_merges;
    if (named.nfc) preparation.normalizer.push_back({.kind = NormalizerStep::Kind::nfc});
    for (const char* expression : named.patterns) {
      if (expression == nullptr) continue;
      TRY(Pattern pattern, Pattern::regex(expression));
      preparation.pre_tokenizer.add(SplitStep{.pattern = std::move(pattern)});
    }
    return preparation;
  }
  return base::error(base::ErrorCode::unsupported, "tokenizer.ggml.pre \"{}\" is not one that Kvasir knows",
                     pre);
}

void add_bert_splits(PreTokenizer& pre_tokenizer) {
  pre_tokenizer.add(
      SplitStep{.pattern = Pattern::character(is_white_space), .behavior = SplitBehavior::removed});
  pre_tokenizer.add(SplitStep{.pattern = Pattern::character(is_punctuation)});
}

}  // namespace kvasir::text
