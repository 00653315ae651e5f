#include "meter/segment.h"

#include <fcntl.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

namespace kvasir::meter {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view kSuffix = ".usage";
constexpr std::uint32_t kMagic = 0x31'52'55'4B;  // "KUR1"

struct FrameHead {
  std::uint32_t magic = kMagic;
  std::uint32_t num_bytes = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FrameHead) == 16);

std::uint64_t checksum_of(std::string_view bytes, std::int64_t position) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), static_cast<std::uint64_t>(position));
}

}  // namespace

std::int64_t frame_size(std::size_t num_bytes) {
  return static_cast<std::int64_t>(sizeof(FrameHead) + num_bytes);
}

void append_frame(std::string& out, std::int64_t position, std::string_view bytes) {
  const FrameHead head{.num_bytes = static_cast<std::uint32_t>(bytes.size()),
                       .checksum = checksum_of(bytes, position)};
  out.append(reinterpret_cast<const char*>(&head), sizeof(head));
  out += bytes;
}

std::optional<std::string_view> FrameReader::frame_at(std::size_t at) const {
  FrameHead head;
  if (text_.size() - at < sizeof(head)) return std::nullopt;
  std::memcpy(&head, text_.data() + at, sizeof(head));
  if (head.magic != kMagic || head.num_bytes > text_.size() - at - sizeof(head)) return std::nullopt;
  const std::string_view bytes = text_.substr(at + sizeof(head), head.num_bytes);
  if (head.checksum != checksum_of(bytes, position_ + static_cast<std::int64_t>(at))) return std::nullopt;
  return bytes;
}

std::optional<std::string_view> FrameReader::next() {
  for (std::size_t at = at_; at < text_.size(); ++at) {
    const std::optional<std::string_view> bytes = frame_at(at);
    if (!bytes) continue;
    num_skipped_ += static_cast<std::int64_t>(at - at_);
    at_ = at + sizeof(FrameHead) + bytes->size();
    return bytes;
  }
  return std::nullopt;
}

fs::path segment_path(const fs::path& folder, std::int64_t begin) {
  return folder / fmt::format("{:020}{}", begin, kSuffix);
}

Result<std::vector<Segment>> list_segments(const fs::path& folder) {
  std::vector<Segment> segments;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    Segment segment{.path = it->path()};
    const char* const digits_end = name.data() + name.size() - kSuffix.size();
    const auto [stopped, problem] = std::from_chars(name.data(), digits_end, segment.begin);
    if (problem != std::errc() || stopped != digits_end) continue;
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(segment.path, gone);
    if (gone) continue;
    segment.end = segment.begin + static_cast<std::int64_t>(size);
    segments.push_back(std::move(segment));
  }
  if (failed) return base::error(ErrorCode::io, "{}: cannot be read: {}", folder.string(), failed.message());
  std::ranges::sort(segments, {}, &Segment::begin);
  // The file of an earlier segment may be longer than its records.
  for (std::size_t i = 1; i < segments.size(); ++i)
    segments[i - 1].end = std::min(segments[i - 1].end, segments[i].begin);
  return segments;
}

Result<std::string> read_segment(const Segment& segment, std::int64_t from, std::int64_t to) {
  std::ifstream in(segment.path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(to - from), '\0');
  in.seekg(from - segment.begin);
  if (!in || in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())).bad())
    return base::error(ErrorCode::io, "{}: cannot be read", segment.path.string());
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

Status sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int problem = errno;
  if (file >= 0) ::close(file);
  if (synced) return base::ok();
  return base::error(ErrorCode::io, "{}: cannot be synced: {}", folder.string(), std::strerror(problem));
}

}  // namespace kvasir::meter
