#include "model/tokenizer/tokenizer_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include "model/file/mapped_file.h"

namespace kvasir::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSuffix = ".kvtok";
constexpr const char* kScratchPrefix = "scratch-";
// The image of a real vocabulary takes some tens of MiB.
constexpr std::size_t kMaxImageBytes = std::size_t{256} << 20;

base::Result<std::shared_ptr<const text::Tokenizer>> load_stored(const fs::path& path,
                                                                 const text::ImageKey& key,
                                                                 const text::TokenizerTexts& texts) {
  TRY(MappedFile mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  return text::load_image({.bytes = file->bytes(), .owner = file}, key, texts);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

base::Result<std::shared_ptr<const text::Tokenizer>> TokenizerCache::load(
    std::string_view tokenizer_json, const text::TokenizerTexts& texts) const {
  if (options_.directory.empty() || tokenizer_json.size() < options_.min_source_bytes)
    return text::Tokenizer::from_json(tokenizer_json, texts.config_json, texts.chat_template);
  const text::ImageKey key = text::image_key(tokenizer_json);
  const fs::path path = options_.directory / fmt::format("{:016x}{:016x}{}", key[1], key[0], kSuffix);
  if (auto stored = load_stored(path, key, texts); stored.ok()) {
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    return stored;
  }
  TRY(text::ImagedTokenizer loaded, text::load_with_image(tokenizer_json, texts));
  if (loaded.image.size() <= kMaxImageBytes) store(path, loaded.image);
  return std::move(loaded.tokenizer);
}

// Writes a scratch file and renames it, so that no process sees half an image, and a process that has mapped
// an older image keeps it. The image's checksum shows when a crash has left an image incomplete.
void TokenizerCache::store(const fs::path& path, const std::string& image) const {
  std::error_code code;
  fs::create_directories(options_.directory, code);
  std::string scratch = (options_.directory / fmt::format("{}XXXXXX", kScratchPrefix)).string();
  const int fd = ::mkstemp(scratch.data());
  if (fd < 0) return;
  const bool written = write_all(fd, image);
  if (::close(fd) == 0 && written) {
    fs::rename(scratch, path, code);
    if (!code) return drop_oldest();
  }
  fs::remove(scratch, code);
}

void TokenizerCache::drop_oldest() const {
  struct Image {
    fs::file_time_type used;
    fs::path path;
  };
  std::vector<Image> images;
  std::error_code code;
  for (fs::directory_iterator entry(options_.directory, code), end; !code && entry != end;
       entry.increment(code)) {
    const auto used = entry->last_write_time(code);
    if (code) return;
    const std::string name = entry->path().filename().string();
    if (entry->path().extension() == kSuffix) images.push_back({used, entry->path()});
    // An old scratch file is from a process that died while it wrote.
    const bool is_old = fs::file_time_type::clock::now() - used > std::chrono::hours(1);
    std::error_code ignored;
    if (name.starts_with(kScratchPrefix) && is_old) fs::remove(entry->path(), ignored);
  }
  std::sort(images.begin(), images.end(), [](const Image& a, const Image& b) { return a.used > b.used; });
  for (std::size_t i = static_cast<std::size_t>(options_.max_images); i < images.size(); ++i)
    fs::remove(images[i].path, code);
}

}  // namespace kvasir::model
