#include "model/encoder/encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/tests_dir_test.h"
#include "model/checkpoint/checkpoint.h"
#include "model/file/text_file.h"
#include "model/file/weight_file_builder.h"
#include "model/loaded_encoder.h"

namespace kvasir::model {
namespace {

using base::ErrorCode;

const std::filesystem::path kBert = std::filesystem::path(base::kTestsDir) / "golden" / "models" / "bert";

std::unique_ptr<Encoder> load(ops::ComputePool& pool) {
  auto checkpoint = open_encoder_checkpoint(kBert);
  CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
  auto encoder = Encoder::load(std::move(*checkpoint), {}, pool);
  CHECK(encoder.ok(), "{}", encoder.error().message);
  return std::move(*encoder);
}

TEST(Encoder, ABatchChangesNoBit) {
  ops::ComputePool one(1);
  ops::ComputePool three(3);
  const auto alone = load(one);
  const auto together = load(three);
  std::mt19937 random(1);
  std::vector<std::vector<TokenId>> sequences(40);  // more rows than are computed together
  for (auto& sequence : sequences) {
    sequence.resize(1 + random() % 90);
    for (TokenId& token : sequence) token = static_cast<TokenId>(random() % 400);
  }
  const auto all = together->encode(sequences);
  ASSERT_TRUE(all.ok());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto vector = alone->encode({&sequences[i], 1});
    ASSERT_TRUE(vector.ok());
    double squares = 0;
    for (std::size_t d = 0; d < vector->size(); ++d) {
      ASSERT_EQ((*vector)[d], (*all)[i * vector->size() + d]);
      squares += static_cast<double>((*vector)[d]) * (*vector)[d];
    }
    EXPECT_NEAR(squares, 1, 1e-6);
  }
}

TEST(Encoder, RefusesWhatItCannotRead) {
  ops::ComputePool pool(1);
  const auto encoder = load(pool);
  const std::vector<TokenId> sequences[] = {{}, std::vector<TokenId>(129, 1), {400}, {-1}};
  for (const auto& sequence : sequences)
    EXPECT_EQ(encoder->encode({&sequence, 1}).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(encoder->encode({})->empty());
}

TEST(Encoder, IsNotADecoder) {
  const auto checkpoint = open_checkpoint(kBert);
  ASSERT_FALSE(checkpoint.ok());
  EXPECT_EQ(checkpoint.error().code, ErrorCode::unsupported);
  EXPECT_NE(checkpoint.error().message.find("encoder"), std::string::npos);
  EXPECT_TRUE(*holds_encoder(kBert));
  EXPECT_FALSE(*holds_encoder(kBert.parent_path() / "llama"));
  EXPECT_FALSE(open_encoder_checkpoint(kBert.parent_path() / "llama").ok());
}

class EncoderDirectory : public testing::Test {
 protected:
  EncoderDirectory() {
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy(kBert / name, directory_.path() / name);
  }
  TemporaryDirectory directory_;
};

TEST_F(EncoderDirectory, ReadsPoolingAndLength) {
  directory_.write("sentence_bert_config.json", R"({"max_seq_length":64})");
  std::filesystem::create_directory(directory_.path() / "1_Pooling");
  directory_.write("1_Pooling/config.json", R"({"pooling_mode_cls_token":true})");
  const auto checkpoint = open_encoder_checkpoint(directory_.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->config.context_length, 64);
  EXPECT_EQ(checkpoint->config.pooling, Pooling::first);
  directory_.write("1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
  const auto wrong = open_encoder_checkpoint(directory_.path());
  EXPECT_EQ(wrong.error().code, ErrorCode::unsupported);
  EXPECT_NE(wrong.error().message.find("1_Pooling"), std::string::npos);
}

TEST_F(EncoderDirectory, NamesWhatIsWrong) {
  const auto error = [&](std::string_view key, std::string_view value) {
    auto config = read_json_file(kBert / "config.json");
    CHECK(config.ok());
    (*config)[key] = base::parse_json(value).value();
    directory_.write("config.json", base::json::serialize(*config));
    ops::ComputePool pool(1);
    auto checkpoint = open_encoder_checkpoint(directory_.path());
    if (!checkpoint.ok()) return checkpoint.error().message;
    const auto encoder = Encoder::load(std::move(*checkpoint), {}, pool);
    return encoder.ok() ? std::string() : encoder.error().message;
  };
  EXPECT_EQ(error("hidden_act", "\"gelu\""), "");
  EXPECT_NE(error("num_attention_heads", "0").find("config.json: number of heads 0"), std::string::npos);
  EXPECT_NE(error("num_attention_heads", "5").find("48 for 5 heads"), std::string::npos);
  EXPECT_NE(error("hidden_size", "4000000000000").find("hidden_size"), std::string::npos);
  EXPECT_NE(error("num_hidden_layers", "4").find("encoder.layer.3."), std::string::npos);
  EXPECT_NE(error("intermediate_size", "97").find("where the config makes it [97, 48]"), std::string::npos);
  EXPECT_NE(error("position_embedding_type", "\"relative_key\"").find("relative_key"), std::string::npos);
}

TEST_F(EncoderDirectory, NeedsItsTokenizer) {
  ops::ComputePool pool(1);
  EXPECT_EQ(open_encoder(directory_.path(), {}, pool).error().code, ErrorCode::not_found);
  directory_.write(
      "tokenizer.json",
      R"({"added_tokens":[{"id":0,"content":"[UNK]","special":true},{"id":1,"content":"[CLS]","special":true},
      {"id":2,"content":"[SEP]","special":true}],"pre_tokenizer":{"type":"BertPreTokenizer"},
      "post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},
      "model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"##b":4}}})");
  const auto model = open_encoder(directory_.path(), {}, pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->tokens("ab a"), (std::vector<TokenId>{1, 3, 4, 3, 2}));
  EXPECT_EQ(model->tokens("ab a", 4), (std::vector<TokenId>{1, 3, 4, 2}));
  EXPECT_EQ(model->tokens(""), (std::vector<TokenId>{1, 2}));
}

}  // namespace
}  // namespace kvasir::model
