#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_image.h"

namespace kvasir::model {

// A directory of tokenizer images. An image is named by a hash of its tokenizer.json, which is parsed once;
// after that, the image is mapped. Unusable images are replaced. If the directory cannot be written, nothing
// is cached. Any number of processes may share the directory.
class TokenizerCache {
 public:
  struct Options {
    std::filesystem::path directory{};                      // empty: every tokenizer is read from its file
    std::size_t min_source_bytes = std::size_t{256} << 10;  // a smaller file is parsed as fast as its image
    int max_images = 16;                                    // the least recently used others are removed
  };

  TokenizerCache() = default;
  explicit TokenizerCache(Options options) : options_(std::move(options)) {}

  base::Result<std::shared_ptr<const text::Tokenizer>> load(std::string_view tokenizer_json,
                                                            const text::TokenizerTexts& texts) const;

 private:
  void store(const std::filesystem::path& path, const std::string& image) const;
  void drop_oldest() const;

  Options options_;
};

}  // namespace kvasir::model
