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

// Images of tokenizers in a directory, named by what they are of, so that a tokenizer.json is read once and
// mapped from then on. Images that cannot be used are replaced, and a directory that cannot be written is as
// good as none. Any number of processes may share it.
class TokenizerCache {
 public:
  struct Options {
    std::filesystem::path directory{};                      // empty: every tokenizer is read from its file
    std::size_t min_source_bytes = std::size_t{256} << 10;  // a smaller file is read as fast as its image
    int max_images = 16;                                    // the ones that were not used for longest go
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
