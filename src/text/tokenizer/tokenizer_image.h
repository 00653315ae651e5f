#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer/model_tables.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_json.h"

namespace kvasir::text {

// Texts that belong to a tokenizer.json and may change while that file stays the same.
struct TokenizerTexts {
  std::string_view config_json;
  std::string_view chat_template;
};

// Provides the tables of a tokenizer.
using TableSource = std::function<base::Result<ModelTables>(ByteLevel, const Decoder&)>;
// Makes the tokenizer of `file`, which need not contain the model's vocabulary and merges.
base::Result<std::shared_ptr<const Tokenizer>> assemble(const base::json::object& file,
                                                        const TableSource& tables_of,
                                                        const TokenizerTexts& texts);

// A hash of the bytes of a tokenizer.json. It identifies the file to which an image belongs.
using ImageKey = std::array<std::uint64_t, 2>;
ImageKey image_key(std::string_view tokenizer_json);

// A tokenizer with its image. The image has the tables as they are in memory, and the rest of the file.
// Loading it takes a tenth of the time, and the tables stay in the image's memory.
struct ImagedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string image;
};
base::Result<ImagedTokenizer> load_with_image(std::string_view tokenizer_json, const TokenizerTexts& texts);

// Bytes at an address that is a multiple of 64, as the address of a mapped file is.
struct ImageBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
// Makes the tokenizer of an image. Fails with `corrupt` if the image belongs to another file or version, or
// is damaged. Any content is safe: at worst the tokens are wrong.
base::Result<std::shared_ptr<const Tokenizer>> load_image(const ImageBytes& image, const ImageKey& key,
                                                          const TokenizerTexts& texts);
// Makes the checksum right again. Tests need this for damage that the checksum would detect first.
void seal_image(std::span<std::byte> image);

}  // namespace kvasir::text
