#include "bench/trace.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/json.h"

namespace kvasir::bench {

namespace json = boost::json;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxTraceBytes = std::size_t{1} << 30;
constexpr double kMaxSeconds = 30 * 86400;
constexpr int kMaxTokens = 1 << 22;
constexpr int kHashedTokens = 512;

base::Result<double> number(const json::object& line, std::string_view name, double max) {
  const json::value* value = line.if_contains(name);
  if (!value->is_number()) return base::error(ErrorCode::invalid_argument, "{}: expected a number", name);
  const double found = value->to_number<double>();
  if (!(found >= 0) || found > max)
    return base::error(ErrorCode::invalid_argument, "{}: expected 0 to {}, got {}", name, max, found);
  return found;
}

// Returns the value of the first of these fields that is present.
base::Result<std::optional<int>> count(const json::object& line,
                                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!line.contains(name)) continue;
    TRY(const double found, number(line, name, kMaxTokens));
    return std::optional<int>(static_cast<int>(found));
  }
  return std::optional<int>();
}

base::Result<std::string> text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string())
    return base::error(ErrorCode::invalid_argument, "{}: expected a string", name);
  return std::string(value->as_string());
}

base::Result<std::vector<Message>> messages_of(const json::object& line) {
  std::vector<Message> messages;
  if (line.contains("prompt")) {
    TRY(std::string prompt, text_of(line, "prompt"));
    messages.push_back({"user", std::move(prompt)});
    return messages;
  }
  const json::value* list = line.if_contains("messages");
  if (list == nullptr) return messages;
  if (!list->is_array() || list->as_array().empty())
    return base::error(ErrorCode::invalid_argument, "messages: expected a list with something in it");
  for (const json::value& one : list->as_array()) {
    if (!one.is_object()) return base::error(ErrorCode::invalid_argument, "messages: expected objects");
    Message message;
    TRY(message.role, text_of(one.as_object(), "role"));
    TRY(message.content, text_of(one.as_object(), "content"));
    messages.push_back(std::move(message));
  }
  return messages;
}

base::Result<std::vector<std::int64_t>> hashes_of(const json::object& line) {
  std::vector<std::int64_t> hashes;
  const json::value* list = line.if_contains("hash_ids");
  if (list == nullptr) return hashes;
  if (!list->is_array()) return base::error(ErrorCode::invalid_argument, "hash_ids: expected a list");
  for (const json::value& one : list->as_array()) {
    if (!one.is_int64()) return base::error(ErrorCode::invalid_argument, "hash_ids: expected integers");
    hashes.push_back(one.as_int64());
  }
  return hashes;
}

base::Result<TraceEntry> parse_line(std::string_view text) {
  TRY(const json::value parsed, base::parse_json(text));
  if (!parsed.is_object()) return base::error(ErrorCode::invalid_argument, "expected an object");
  const json::object& line = parsed.as_object();
  TraceEntry entry;
  if (line.contains("arrival_s")) {
    TRY(entry.arrival_s, number(line, "arrival_s", kMaxSeconds));
  } else if (line.contains("timestamp")) {
    TRY(const double ms, number(line, "timestamp", 1e16));
    entry.arrival_s = ms / 1000;
  }
  TRY(entry.messages, messages_of(line));
  TRY(entry.hash_ids, hashes_of(line));
  TRY(const std::optional<int> input, count(line, {"input_length", "input_tokens"}));
  TRY(const std::optional<int> output, count(line, {"output_length", "output_tokens", "max_tokens"}));
  if (!input && entry.messages.empty())
    return base::error(ErrorCode::invalid_argument, "expected messages, prompt or input_length");
  entry.input_tokens = std::max(1, input.value_or(1));
  entry.output_tokens = std::max(1, output.value_or(entry.output_tokens));
  return entry;
}

base::Status settle_arrivals(std::vector<TraceEntry>& entries) {
  const auto timed = static_cast<std::size_t>(std::count_if(
      entries.begin(), entries.end(), [](const TraceEntry& entry) { return entry.arrival_s.has_value(); }));
  if (timed == 0) return base::ok();
  if (timed < entries.size())
    return base::error(ErrorCode::invalid_argument, "{} of {} entries say when they arrive: all or none",
                       timed, entries.size());
  const double first = *entries.front().arrival_s;
  double last = first;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (*entries[i].arrival_s < last)
      return base::error(ErrorCode::invalid_argument, "entry {} arrives before the one before it", i + 1);
    last = *entries[i].arrival_s;
    *entries[i].arrival_s -= first;
  }
  if (last - first > kMaxSeconds)
    return base::error(ErrorCode::invalid_argument, "it spans more than {} days", kMaxSeconds / 86400);
  return base::ok();
}

std::string made_up(const TraceEntry& entry, const TokenScale& scale, std::uint64_t seed,
                    std::uint64_t index) {
  const int num_words = scale.words_for(entry.input_tokens);
  const TokenScale bare{scale.tokens_per_word, 0};
  const int words_per_hash = bare.words_for(kHashedTokens);
  std::string text;
  int num_made = 0;
  for (const std::int64_t hash : entry.hash_ids) {
    if (num_made == num_words) break;
    const int take = std::min(words_per_hash, num_words - num_made);
    Random random(seed ^ 0x7261636568617368u, static_cast<std::uint64_t>(hash));
    text += (num_made > 0 ? " " : "") + random_words(random, take);
    num_made += take;
  }
  if (num_made == num_words) return text;
  Random random(seed, index);
  return text + (num_made > 0 ? " " : "") + random_words(random, num_words - num_made);
}

}  // namespace

base::Result<std::vector<TraceEntry>> parse_trace(std::string_view text) {
  std::vector<TraceEntry> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto entry = parse_line(line);
    if (!entry.ok()) return base::error(entry.error().code, "line {}: {}", number, entry.error().message);
    entries.push_back(std::move(*entry));
  }
  if (entries.empty()) return base::error(ErrorCode::invalid_argument, "no entries");
  TRY_OK(settle_arrivals(entries));
  return entries;
}

base::Result<std::vector<TraceEntry>> read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return base::error(ErrorCode::not_found, "cannot open {}", path);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg()));
  if (size > kMaxTraceBytes) return base::error(ErrorCode::too_large, "{} is over 1 GiB", path);
  std::string text(size, '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return base::error(ErrorCode::io, "cannot read {}", path);
  auto entries = parse_trace(text);
  if (!entries.ok()) return base::error(entries.error().code, "{}: {}", path, entries.error().message);
  return entries;
}

Conversation conversation_of(const TraceEntry& entry, const TokenScale& scale, std::uint64_t seed,
                             std::uint64_t index) {
  Conversation conversation;
  if (entry.messages.empty()) {
    conversation.turns.push_back({made_up(entry, scale, seed, index), entry.output_tokens});
    return conversation;
  }
  conversation.opening.assign(entry.messages.begin(), entry.messages.end() - 1);
  conversation.turns.push_back({entry.messages.back().content, entry.output_tokens});
  return conversation;
}

}  // namespace kvasir::bench
