#include "meter/log_fold.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "meter/usage_record.h"
#include "obs/log.h"

namespace kvasir::meter {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

std::vector<store::UsageRow> add_up(std::string_view text, std::int64_t position) {
  std::map<store::UsageGroup, store::UsageTotals> sums;
  FrameReader frames(text, position);
  int num_unknown = 0;
  while (const std::optional<std::string_view> bytes = frames.next()) {
    const Result<UsageRecord> record = decode(*bytes);
    num_unknown += record.ok() ? 0 : 1;
    if (!record.ok()) continue;
    const store::UsageRow row = totals_of(*record);
    sums[row.group] += row.totals;
  }
  if (frames.num_skipped() > 0 || num_unknown > 0)
    obs::Log::error(
        "usage_log_damaged",
        {{"position", position}, {"lost_bytes", frames.num_skipped()}, {"unknown_records", num_unknown}});
  std::vector<store::UsageRow> rows;
  rows.reserve(sums.size());
  for (auto& [group, totals] : sums) rows.push_back({group, totals});
  return rows;
}

Status remove_segments(const std::vector<Segment>& segments, std::int64_t position) {
  for (const Segment& segment : segments) {
    if (segment.end > position) continue;
    std::error_code failed;
    std::filesystem::remove(segment.path, failed);
    if (failed)
      return base::error(ErrorCode::io, "{}: cannot be removed: {}", segment.path.string(), failed.message());
  }
  return base::ok();
}

}  // namespace

LogFold::LogFold(std::filesystem::path folder, std::string log, store::Usage& usage)
    : folder_(std::move(folder)), log_(std::move(log)), usage_(usage) {}

Status LogFold::find_position() {
  if (position_ >= 0) return base::ok();
  TRY(position_, usage_.position(log_));
  return base::ok();
}

Status LogFold::fold_segment(const Segment& segment, std::int64_t end) {
  const std::int64_t to = std::min(segment.end, end);
  if (to <= position_) return base::ok();
  const std::int64_t from = std::max(segment.begin, position_);
  TRY(const std::string text, read_segment(segment, from, to));
  const store::UsageFold part{.log = log_, .from = position_, .to = to, .rows = add_up(text, from)};
  if (Status folded = usage_.fold(part); !folded.ok()) {
    position_ = -1;  // the commit may still have happened
    return folded;
  }
  position_ = to;
  return base::ok();
}

Status LogFold::fold(std::int64_t end) {
  TRY_OK(find_position());
  if (position_ >= end) return base::ok();
  TRY(std::vector<Segment> segments, list_segments(folder_));
  for (const Segment& segment : segments) TRY_OK(fold_segment(segment, end));
  if (!segments.empty()) segments.pop_back();
  return remove_segments(segments, position_);
}

Status LogFold::fold_all() {
  TRY_OK(find_position());
  TRY(const std::vector<Segment> segments, list_segments(folder_));
  for (const Segment& segment : segments) TRY_OK(fold_segment(segment, segment.end));
  return remove_segments(segments, position_);
}

}  // namespace kvasir::meter
