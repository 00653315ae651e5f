#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// The files of a log. Each byte of a log has a position, which never comes again; a segment's file is called
// by the position of its first byte. A frame is a record's bytes with their length and a checksum, which says
// the position too, so that bytes of another place or time are never taken for a record.
namespace kvasir::meter {

// The length of a frame around so many bytes.
std::int64_t frame_size(std::size_t num_bytes);
void append_frame(std::string& out, std::int64_t position, std::string_view bytes);

// Reads the frames of a part of a log that begins at `position`. What is damaged is passed over: the next
// frame is the next place where one is whole. The text outlives it.
class FrameReader {
 public:
  FrameReader(std::string_view text, std::int64_t position) : text_(text), position_(position) {}

  // The bytes of the next record; nothing once there is none.
  std::optional<std::string_view> next();
  // Bytes that belonged to no frame and stood before one.
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
// In the order of their positions.
base::Result<std::vector<Segment>> list_segments(const std::filesystem::path& folder);
// The bytes from `from` to `to`; fewer where the file is shorter.
base::Result<std::string> read_segment(const Segment& segment, std::int64_t from, std::int64_t to);

// Makes what was created and removed in the folder last.
base::Status sync_folder(const std::filesystem::path& folder);

}  // namespace kvasir::meter
