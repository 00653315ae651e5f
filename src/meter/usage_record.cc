#include "meter/usage_record.h"

#include <array>
#include <chrono>
#include <cstring>

namespace kvasir::meter {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::uint8_t kVersion = 1;

constexpr std::array<std::string_view, 5> kFinishNames = {"stop", "length", "tool_calls", "cancelled",
                                                          "failed"};

// Visits a record's numbers and texts in the order in which they are written.
template <class Record, class Number, class Text>
void for_each_field(Record& record, Number number, Text text) {
  text(record.id);
  text(record.tenant);
  text(record.key);
  text(record.model);
  text(record.adapter);
  text(record.endpoint);
  number(record.prompt_tokens);
  number(record.cached_tokens);
  number(record.completion_tokens);
  number(record.ttft_ms);
  number(record.total_ms);
  number(record.cost_nano);
  text(record.currency);
  number(record.time_ms);
}

// Takes values from the front of the bytes. Once a value is missing, it and all later ones are empty.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T take() {
    T value{};
    const std::string_view part = take(sizeof(T));
    if (part.size() == sizeof(T)) part.copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  std::string_view take(std::size_t size) {
    ok_ = ok_ && size <= left_.size();
    const std::string_view part = ok_ ? left_.substr(0, size) : std::string_view();
    left_.remove_prefix(part.size());
    return part;
  }
  bool all_taken() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

std::string_view name_of(Finish finish) {
  return kFinishNames.at(static_cast<std::size_t>(finish));
}

std::string encode(const UsageRecord& record) {
  std::string out;
  out.reserve(192);
  put(out, kVersion);
  put(out, static_cast<std::uint8_t>(record.kind));
  put(out, static_cast<std::uint8_t>(record.finish));
  for_each_field(
      record, [&](std::int64_t value) { put(out, value); },
      [&](const std::string& text) {
        put(out, static_cast<std::uint32_t>(text.size()));
        out += text;
      });
  return out;
}

Result<UsageRecord> decode(std::string_view bytes) {
  Bytes in(bytes);
  UsageRecord record;
  const auto version = in.take<std::uint8_t>();
  const auto kind = in.take<std::uint8_t>();
  const auto finish = in.take<std::uint8_t>();
  for_each_field(
      record, [&](std::int64_t& value) { value = in.take<std::int64_t>(); },
      [&](std::string& text) { text = in.take(in.take<std::uint32_t>()); });
  if (version != kVersion || kind > 1 || finish >= kFinishNames.size() || !in.all_taken())
    return base::error(ErrorCode::corrupt, "a usage record of {} bytes cannot be read", bytes.size());
  record.kind = static_cast<UsageRecord::Kind>(kind);
  record.finish = static_cast<Finish>(finish);
  return record;
}

store::UsageRow totals_of(const UsageRecord& record) {
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::milliseconds(record.time_ms));
  const bool counts = record.kind == UsageRecord::Kind::request;
  store::UsageRow row;
  row.group = {record.tenant, day.count(), record.key, record.model, record.currency};
  row.totals = {.num_requests = counts ? 1 : 0,
                .num_cancelled = counts && record.finish == Finish::cancelled ? 1 : 0,
                .num_failed = counts && record.finish == Finish::failed ? 1 : 0,
                .prompt_tokens = record.prompt_tokens,
                .cached_tokens = record.cached_tokens,
                .completion_tokens = record.completion_tokens,
                .cost_nano = record.cost_nano};
  return row;
}

}  // namespace kvasir::meter
