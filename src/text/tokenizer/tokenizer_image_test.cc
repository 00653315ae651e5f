#include "text/tokenizer/tokenizer_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace kvasir::text {
namespace {

// One file for each kind of model, with added tokens and with every step that has state.
const std::string kFiles[] = {
    R"({"added_tokens":[{"id":9,"content":"<|end|>","special":true},{"id":12,"content":"<t>","special":false}],
      "normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
      "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|end|>"}},{"Sequence":{}}]},
      "decoder":{"type":"ByteLevel"},
      "model":{"type":"BPE","vocab":{"a":0,"b":1,"Ġ":2,"ab":3,"Ġa":4,"abb":5,"1":6,"Ã":7,"©":8,"Ã©":11},
      "merges":["a b",["Ġ","a"],"Ã ©"]}})",
    R"({"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
      "decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
      {"type":"ByteFallback"},{"type":"Fuse"}]},
      "model":{"type":"BPE","byte_fallback":true,"unk_token":"<unk>","fuse_unk":true,
      "vocab":{"<unk>":0,"<0x0A>":1,"▁":2,"a":3,"b":4,"▁a":5,"ab":6},"merges":["▁ a","a b"]}})",
    R"({"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},
      "decoder":{"type":"WordPiece","prefix":"##"},
      "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":50,"vocab":{"[UNK]":0,"a":1,"##a":2,"##b":3,"b":4,"ab":5,"1":6}}})",
    R"({"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
      "decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
      "model":{"type":"Unigram","unk_id":0,"byte_fallback":false,
      "vocab":[["<unk>",0],["▁",-2],["a",-3.5],["b",-3.25],["▁a",-3],["ab",-4],["aab",-5]]}})",
};

// Bytes that are aligned as those of a mapped file are.
class Aligned {
 public:
  explicit Aligned(std::string_view bytes) : size_(bytes.size()), blocks_(bytes.size() / 64 + 1) {
    std::memcpy(blocks_.data(), bytes.data(), bytes.size());
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(blocks_)).subspan(0, size_); }

 private:
  struct alignas(64) Block {
    char bytes[64] = {};
  };
  std::size_t size_;
  std::vector<Block> blocks_;
};

base::Result<std::shared_ptr<const Tokenizer>> load(std::string_view image, const std::string& file) {
  auto held = std::make_shared<Aligned>(image);
  return load_image({.bytes = held->bytes(), .owner = held}, image_key(file), {});
}

std::string image_of(const std::string& file) {
  auto loaded = load_with_image(file, {});
  CHECK(loaded.ok(), "{}", loaded.error().message);
  return std::move(loaded->image);
}

std::string random_text(std::mt19937& random) {
  constexpr const char* kPieces[] = {"a",       "b", "ab",      " ",   "1",  "é",
                                     "e\u0301", "?", "<|end|>", "<t>", "\n", "\u2581"};
  std::string text;
  for (std::size_t size = random() % 30; size > 0; --size) text += kPieces[random() % std::size(kPieces)];
  return text;
}

TEST(TokenizerImage, IsTheSameTokenizer) {
  std::mt19937 random(1);
  for (const std::string& file : kFiles) {
    const auto own = Tokenizer::from_json(file);
    ASSERT_TRUE(own.ok()) << own.error().message;
    const auto loaded = load(image_of(file), file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const Tokenizer& a = **own;
    const Tokenizer& b = **loaded;
    EXPECT_EQ(a.size(), b.size());
    EXPECT_EQ(a.bos(), b.bos());
    EXPECT_EQ(a.max_token_bytes(), b.max_token_bytes());
    EXPECT_EQ(a.find("ab"), b.find("ab"));
    for (int round = 0; round < 300; ++round) {
      const std::string text = random_text(random);
      const auto ids = a.encode(text, Specials::parse);
      ASSERT_EQ(ids, b.encode(text, Specials::parse)) << text;
      ASSERT_EQ(a.decode(ids), b.decode(ids)) << text;
    }
  }
}

TEST(TokenizerImage, TakesTheConfigurationOfTheMoment) {
  auto held = std::make_shared<Aligned>(image_of(kFiles[0]));
  const auto loaded = load_image({.bytes = held->bytes(), .owner = held}, image_key(kFiles[0]),
                                 {.config_json = R"({"eos_token":"<t>"})", .chat_template = "{{ x }}"});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ((*loaded)->eos(), 12);
  EXPECT_EQ((*loaded)->chat_template(), "{{ x }}");
}

TEST(TokenizerImage, NoneOfAnotherFileIsTaken) {
  EXPECT_FALSE(load(image_of(kFiles[0]), kFiles[1]).ok());
  EXPECT_FALSE(load(image_of(kFiles[0]), kFiles[0] + " ").ok());
}

TEST(TokenizerImage, DamageIsSeen) {
  for (const std::string& file : kFiles) {
    const std::string image = image_of(file);
    for (std::size_t size = 0; size < image.size(); size += 7)
      EXPECT_FALSE(load(std::string_view(image).substr(0, size), file).ok()) << size;
    EXPECT_FALSE(load(image + "x", file).ok());
    for (std::size_t at = 0; at < image.size(); at += 3) {
      std::string damaged = image;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      EXPECT_FALSE(load(damaged, file).ok()) << at;
    }
  }
}

// Some bytes of each image are changed on purpose. The tokens may be wrong, but nothing worse may happen.
TEST(TokenizerImage, NothingInItIsTrusted) {
  std::mt19937 random(2);
  int num_loaded = 0;
  for (const std::string& file : kFiles) {
    const std::string image = image_of(file);
    for (int round = 0; round < 3000; ++round) {
      auto held = std::make_shared<Aligned>(image);
      for (int change = 0; change < 1 + round % 3; ++change) {
        std::byte& at = held->bytes()[64 + random() % (image.size() - 64)];
        at = static_cast<std::byte>(random() % 3 == 0 ? 0xFF : random() % 256);
      }
      seal_image(held->bytes());
      const auto loaded = load_image({.bytes = held->bytes(), .owner = held}, image_key(file), {});
      if (!loaded.ok()) continue;
      ++num_loaded;
      const auto ids = (*loaded)->encode("ab a <|end|> <t>é 1 aabb\n", Specials::parse);
      EXPECT_LE((*loaded)->decode(ids, SpecialOutput::keep).size(), 4096u * 32);
    }
  }
  EXPECT_GT(num_loaded, 100);
}

}  // namespace
}  // namespace kvasir::text
