#include "api/batches/batch_lines.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/unique_json.h"

namespace kvasir::api {

using base::Error;
using base::Result;
using store::BatchStatus;

namespace {

constexpr std::size_t kMaxErrors = 100;
constexpr std::int64_t kWindow_s = 24 * 60 * 60;
constexpr std::array<std::string_view, 2> kEndpoints = {"/v1/chat/completions", "/v1/completions"};

Result<std::string> text_of(const json::object& line, const char* name) {
  const json::value* value = line.if_contains(name);
  if (value == nullptr || value->is_null()) return in_field(name, missing("a string"));
  auto text = read_string(*value);
  if (!text.ok()) return in_field(name, std::move(text).error());
  return text;
}

Result<store::BatchLine> read_line(std::string_view text, const std::string& endpoint) {
  TRY(json::value value, base::parse_unique_json(text, kStoredJson));
  if (!value.is_object()) return wrong_type("a JSON object", value);
  const json::object& line = value.get_object();
  store::BatchLine read;
  TRY(read.custom_id, text_of(line, "custom_id"));
  TRY(const std::string method, text_of(line, "method"));
  if (method != "POST") return in_field("method", wrong_value("expected POST"));
  TRY(const std::string url, text_of(line, "url"));
  if (url != endpoint)
    return in_field("url", wrong_value(fmt::format("expected the batch's endpoint, {}", endpoint)));
  const json::value* body = line.if_contains("body");
  if (body == nullptr || !body->is_object()) return in_field("body", missing("an object"));
  if (const json::value* stream = body->get_object().if_contains("stream");
      stream != nullptr && stream->is_bool() && stream->get_bool())
    return in_field("body.stream", wrong_value("a batch does not stream"));
  read.body = base::json_text(*body);
  return read;
}

json::value seconds_or_null(std::int64_t ms) {
  return ms == 0 ? json::value(nullptr) : json::value(ms / 1000);
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

}  // namespace

bool is_batch_endpoint(std::string_view path) {
  return std::find(kEndpoints.begin(), kEndpoints.end(), path) != kEndpoints.end();
}

BatchInput read_batch_input(const std::string& contents, const std::string& endpoint) {
  BatchInput input;
  std::set<std::string> ids;
  std::string_view rest = contents;
  const auto refuse = [&](const Error& error, std::int64_t number) {
    if (input.errors.size() == kMaxErrors) return;
    input.errors.push_back(json::object{{"code", error.reason.empty() ? "invalid_request" : error.reason},
                                        {"message", error.message},
                                        {"param", text_or_null(error.field)},
                                        {"line", number}});
  };
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(" \t") == text.npos) continue;
    Result<store::BatchLine> line = read_line(text, endpoint);
    if (!line.ok()) {
      refuse(line.error(), number);
    } else if (!ids.insert(line->custom_id).second) {
      refuse(in_field("custom_id", wrong_value("another line has it already")), number);
    } else {
      line->number = number;
      input.lines.push_back(std::move(*line));
    }
    if (input.lines.size() > kMaxBatchLines) {
      refuse(wrong_value(fmt::format("a batch has at most {} requests", kMaxBatchLines)), number);
      return input;
    }
  }
  if (input.lines.empty() && input.errors.empty()) refuse(wrong_value("the file has no requests"), 0);
  return input;
}

json::object batch_object(const store::Batch& batch) {
  const auto at = [&](BatchStatus status) {
    return seconds_or_null(batch.entered_ms[static_cast<std::size_t>(status)]);
  };
  json::value errors(nullptr);
  if (auto list = base::parse_json(batch.errors); list.ok() && list->is_array() && !list->get_array().empty())
    errors = json::object{{"object", "list"}, {"data", std::move(*list)}};
  auto metadata = base::parse_json(batch.metadata);
  return {{"id", batch.id},
          {"object", "batch"},
          {"endpoint", batch.endpoint},
          {"errors", std::move(errors)},
          {"input_file_id", batch.input_file_id},
          {"completion_window", batch.completion_window},
          {"status", name_of(batch.status)},
          {"output_file_id", text_or_null(batch.output_file_id)},
          {"error_file_id", text_or_null(batch.error_file_id)},
          {"created_at", batch.created_ms / 1000},
          {"in_progress_at", at(BatchStatus::in_progress)},
          {"expires_at", batch.created_ms / 1000 + kWindow_s},
          {"finalizing_at", at(BatchStatus::finalizing)},
          {"completed_at", at(BatchStatus::completed)},
          {"failed_at", at(BatchStatus::failed)},
          {"expired_at", nullptr},
          {"cancelling_at", at(BatchStatus::cancelling)},
          {"cancelled_at", at(BatchStatus::cancelled)},
          {"request_counts",
           json::object{
               {"total", batch.num_lines}, {"completed", batch.num_completed}, {"failed", batch.num_failed}}},
          {"metadata", metadata.ok() ? std::move(*metadata) : json::value(nullptr)}};
}

}  // namespace kvasir::api
