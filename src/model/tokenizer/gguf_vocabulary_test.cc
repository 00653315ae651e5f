#include "model/tokenizer/gguf_vocabulary.h"

#include <gtest/gtest.h>

namespace kvasir::model {
namespace {

Metadata metadata_with(std::initializer_list<std::pair<std::string_view, std::int64_t>> ids) {
  Metadata metadata;
  metadata.add("tokenizer.ggml.model", std::string_view("gpt2"));
  metadata.add("tokenizer.ggml.tokens", std::vector<std::string_view>{"a", "b", "c", "d", "e", "f"});
  for (const auto& [key, id] : ids) metadata.add(key, id);
  return metadata;
}

TEST(GgufVocabulary, TokensAroundGapsHaveKeys) {
  const auto vocabulary = read_vocabulary(metadata_with({{"tokenizer.ggml.fim_pre_token_id", 0},
                                                         {"tokenizer.ggml.fim_suf_token_id", 1},
                                                         {"tokenizer.ggml.fim_mid_token_id", 2},
                                                         {"tokenizer.ggml.fim_pad_token_id", 3},
                                                         {"tokenizer.ggml.fim_rep_token_id", 4},
                                                         {"tokenizer.ggml.fim_sep_token_id", 5}}));
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->fim.prefix, 0);
  EXPECT_EQ(vocabulary->fim.suffix, 1);
  EXPECT_EQ(vocabulary->fim.middle, 2);
  EXPECT_EQ(vocabulary->fim.pad, 3);
  EXPECT_EQ(vocabulary->fim.repository, 4);
  EXPECT_EQ(vocabulary->fim.file, 5);
}

TEST(GgufVocabulary, OlderKeysGiveWayToNewerOnes) {
  const auto vocabulary = read_vocabulary(metadata_with({{"tokenizer.ggml.prefix_token_id", 0},
                                                         {"tokenizer.ggml.suffix_token_id", 1},
                                                         {"tokenizer.ggml.middle_token_id", 2},
                                                         {"tokenizer.ggml.fim_mid_token_id", 3}}));
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->fim.prefix, 0);
  EXPECT_EQ(vocabulary->fim.suffix, 1);
  EXPECT_EQ(vocabulary->fim.middle, 3);
  EXPECT_FALSE(vocabulary->fim.file);
  EXPECT_FALSE(read_vocabulary(metadata_with({{"tokenizer.ggml.fim_pre_token_id", -1}})).ok());
}

}  // namespace
}  // namespace kvasir::model
