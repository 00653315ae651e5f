// Loads arbitrary tokenizers and encodes arbitrary texts. Loading must never crash, hang or grow without
// bound. A loaded tokenizer must encode any text into its own tokens, the same each time. A stream of any
// tokens must give the same text as decoding them at once, in whole characters. Byte-level tokens must keep
// every byte. An image must load as the same tokenizer, and a changed image at worst as another one.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer_image.h"

namespace {

using namespace kvasir::text;
using kvasir::TokenId;
using Shared = std::shared_ptr<const Tokenizer>;

void require(bool condition) {
  if (!condition) std::abort();
}

// Bytes with the alignment of a mapped file.
struct Aligned {
  struct alignas(64) Block {
    char bytes[64] = {};
  };
  explicit Aligned(std::string_view image) : blocks(image.size() / 64 + 1), size(image.size()) {
    std::memcpy(blocks.data(), image.data(), image.size());
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(blocks)).subspan(0, size); }

  std::vector<Block> blocks;
  std::size_t size;
};

void check_stream(const Shared& tokenizer, const std::vector<TokenId>& ids) {
  for (const auto specials : {SpecialOutput::skip, SpecialOutput::keep}) {
    Detokenizer detokenizer(tokenizer, specials);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string piece = detokenizer.push(id);
      require(kvasir::base::utf8_valid_prefix(piece) == piece.size());
      joined += piece;
    }
    joined += detokenizer.flush();
    require(joined == tokenizer->decode(ids, specials));
  }
}

void check(const Shared& tokenizer, std::string_view text) {
  std::vector<TokenId> any;  // tokens in an order that no text need have
  for (const char c : text)
    any.push_back(
        static_cast<TokenId>(static_cast<unsigned char>(c) % static_cast<unsigned>(tokenizer->size())));
  check_stream(tokenizer, any);
  for (const auto specials : {Specials::as_text, Specials::parse}) {
    const std::vector<TokenId> ids = tokenizer->encode(text, specials);
    for (const TokenId id : ids) require(tokenizer->valid(id));
    require(ids == tokenizer->encode(text, specials));
    check_stream(tokenizer, ids);
  }
  Prompt prompt;
  prompt.text = text;
  for (const TokenId id : tokenizer->encode(prompt)) require(tokenizer->valid(id));
}

Shared from_image(const std::shared_ptr<Aligned>& image, std::string_view file) {
  auto loaded = load_image({.bytes = image->bytes(), .owner = image}, image_key(file), {});
  return loaded.ok() ? *loaded : nullptr;
}

// The input is a file and, after a zero byte, a text, which is also tried as the configuration.
void try_file(std::string_view input) {
  const std::size_t zero = input.find('\0');
  const std::string_view file = input.substr(0, zero);
  // Short, since a normalizer may make it thousands of times longer.
  const std::string_view text = zero == std::string_view::npos ? "ab <|x|> Ab" : input.substr(zero + 1, 256);
  (void)Tokenizer::from_json(file, text).ok();
  auto loaded = load_with_image(file, {});
  if (!loaded.ok()) return;
  check(loaded->tokenizer, text);
  const Shared again = from_image(std::make_shared<Aligned>(loaded->image), file);
  require(again != nullptr);
  require(again->encode(text, Specials::parse) == loaded->tokenizer->encode(text, Specials::parse));
}

// A tokenizer with every byte, some pairs, and added tokens.
std::string byte_level_file() {
  std::string vocab;
  auto add = [&vocab, next = 0](const std::string& token) mutable {
    const bool escaped = token == "\"" || token == "\\";
    vocab +=
        (next == 0 ? "\"" : ",\"") + std::string(escaped ? "\\" : "") + token + "\":" + std::to_string(next);
    ++next;
  };
  for (int byte = 0; byte < 256; ++byte) add(spelling_of_byte(static_cast<unsigned char>(byte)));
  for (const char* token : {"th", "he", "the", "Ġthe", "aa", "aaaa", "ĠĠ", "Ã©", "ab", "ba", "aba"})
    add(token);
  return R"({"added_tokens":[{"id":267,"content":"<|x|>","special":true},{"id":268,"content":"<t>","special":false}],
    "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},"decoder":{"type":"ByteLevel"},
    "model":{"type":"BPE","vocab":{)" +
         vocab + R"(},"merges":["t h","h e","th e","Ġ the","a a","aa aa","Ġ Ġ","Ã ©","a b","b a","ab a"]}})";
}

// Encodes arbitrary bytes with a tokenizer that has all of them.
void try_text(std::string_view text) {
  static const Shared tokenizer = *Tokenizer::from_json(byte_level_file());
  check(tokenizer, text);
  kvasir::base::Utf8Repair repair;
  std::string repaired;
  repair.push(text, repaired);
  repair.finish(repaired);
  for (const auto specials : {Specials::as_text, Specials::parse})
    require(tokenizer->decode(tokenizer->encode(text, specials), SpecialOutput::keep) == repaired);
}

// Each change to an image is three bytes: its position and the new value.
void try_image(std::string_view changes) {
  static const std::string files[] = {
      byte_level_file(),
      R"({"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"BertPreTokenizer"},
      "model":{"type":"WordPiece","unk_token":"[U]","vocab":{"[U]":0,"a":1,"##b":2,"##a":3}}})",
      R"({"pre_tokenizer":{"type":"Metaspace"},"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,
      "vocab":[["<u>",0],["a",-2],["ab",-3],["<0x41>",-4]]}})"};
  static const std::string images[] = {load_with_image(files[0], {})->image,
                                       load_with_image(files[1], {})->image,
                                       load_with_image(files[2], {})->image};
  if (changes.empty()) return;
  const std::size_t which = static_cast<unsigned char>(changes[0]) % 3;
  const auto image = std::make_shared<Aligned>(images[which]);
  const auto byte = [&changes](std::size_t at) { return static_cast<unsigned char>(changes[at]); };
  for (std::size_t at = 1; at + 3 <= changes.size(); at += 3) {
    const std::size_t where = (byte(at) << 8 | byte(at + 1)) % image->size;
    image->bytes()[where] = static_cast<std::byte>(byte(at + 2));
  }
  seal_image(image->bytes());
  if (const Shared tokenizer = from_image(image, files[which]))
    check(tokenizer, "the aba <|x|> Aab\xC3\xA9 <t>\xFF th\n\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 't':
      try_text(input);
      break;
    case 'i':
      try_image(input);
      break;
    default:
      try_file(input);
  }
  return 0;
}
