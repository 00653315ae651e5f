#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// The files of a log. Each byte of a log has a position that is never used twice. A segment's file is named
// by the position of its first byte. A frame is a record with its length and a checksum. The checksum covers
// the position, so stale bytes are never taken for a record.
namespace kvasir::meter {

// The size of a frame for a record of `num_bytes`.
std::int64_t frame_size(std::size_t num_bytes);
void append_frame(std::string& out, std::int64_t position, std::string_view bytes);

// Reads the frames of a part of a log that begins at `position`. Skips damaged bytes up to the next valid
// frame. The text outlives the reader.
class FrameReader {
 public:
  FrameReader(std::string_view text, std::int64_t position) : text_(text), position_(position) {}

  // The bytes of the next record; nothing at the end.
  std::optional<std::string_view> next();
  // Damaged bytes that were skipped before a valid frame.
  std::int64_t num_skipped() const { return num_skipped_; }

 private:
  std::optional<std::string_view> frame_at(std::size_t at) const;

  std::string_view text_;
  std::int64_t position_;
  std::size_t at_ = 0;
  std::int64_t num_skipped_ = 0;
};

struct Segment {
  std::filesystem::path path;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::filesystem::path segment_path(const std::filesystem::path& folder, std::int64_t begin);
// Lists the segments, sorted by position.
base::Result<std::vector<Segment>> list_segments(const std::filesystem::path& folder);
// Reads the bytes from `from` to `to`, or fewer if the file is shorter.
base::Result<std::string> read_segment(const Segment& segment, std::int64_t from, std::int64_t to);

// Makes the creation and removal of the folder's files durable.
base::Status sync_folder(const std::filesystem::path& folder);

}  // namespace kvasir::meter
