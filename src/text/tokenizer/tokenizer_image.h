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

// What belongs to a tokenizer.json and may change without it.
struct TokenizerTexts {
  std::string_view config_json;
  std::string_view chat_template;
};

// Where a tokenizer's tables come from.
using TableSource = std::function<base::Result<ModelTables>(ByteLevel, const Decoder&)>;
// A tokenizer of `file`, in which the model's vocabulary and merges need not be.
base::Result<std::shared_ptr<const Tokenizer>> assemble(const base::json::object& file,
                                                        const TableSource& tables_of,
                                                        const TokenizerTexts& texts);

// Which tokenizer.json an image is of: a hash of its bytes.
using ImageKey = std::array<std::uint64_t, 2>;
ImageKey image_key(std::string_view tokenizer_json);

// A tokenizer with its image: the tables as they stand in memory and what else the file holds. Loading the
// image takes a tenth of the time, and the tables stay where the image is.
struct ImagedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string image;
};
base::Result<ImagedTokenizer> load_with_image(std::string_view tokenizer_json, const TokenizerTexts& texts);

// Bytes that begin at a multiple of 64, as those of a mapped file do.
struct ImageBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
// corrupt: the image is another file's, another version's or damaged. Whatever it holds, nothing worse comes
// of it than that, or wrong tokens.
base::Result<std::shared_ptr<const Tokenizer>> load_image(const ImageBytes& image, const ImageKey& key,
                                                          const TokenizerTexts& texts);
// Makes the checksum right; for tests of what a checksum alone would hide.
void seal_image(std::span<std::byte> image);

}  // namespace kvasir::text
