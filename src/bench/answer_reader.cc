#include "bench/answer_reader.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "bench/answer_event.h"

namespace kvasir::bench {

namespace json = boost::json;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxEventBytes = 4 * 1024 * 1024;
constexpr std::size_t kMaxRefusalBytes = 64 * 1024;
constexpr std::size_t kMaxTextBytes = 16 * 1024 * 1024;

Failure failure_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unavailable:
      return Failure::connect;
    case ErrorCode::timeout:
      return Failure::timeout;
    case ErrorCode::corrupt:
    case ErrorCode::too_large:
    case ErrorCode::unsupported:
      return Failure::malformed;
    default:
      return Failure::cut;
  }
}

}  // namespace

std::string error_text(const std::string& body) {
  const auto parsed = base::parse_json(body);
  const json::object* object = parsed.ok() ? parsed->if_object() : nullptr;
  const json::value* error = object != nullptr ? object->if_contains("error") : nullptr;
  if (error != nullptr && error->is_string()) return std::string(error->as_string());
  if (error != nullptr && error->is_object())
    if (const json::value* text = error->as_object().if_contains("message"); text && text->is_string())
      return std::string(text->as_string());
  return body.substr(0, 200);
}

AnswerReader::AnswerReader(RequestRecord& record, std::function<double()> now_s)
    : record_(record),
      now_s_(std::move(now_s)),
      events_(kMaxEventBytes, [this](std::string_view data) { return take_event(data); }) {
  sink_.head = [this](const net::HttpReply& reply) {
    record_.http_status = reply.status;
    return base::ok();
  };
  sink_.body = [this](std::string_view bytes) -> base::Status {
    if (record_.http_status == 200) return events_.feed(bytes);
    refusal_ += bytes.substr(0, kMaxRefusalBytes - std::min(kMaxRefusalBytes, refusal_.size()));
    return base::ok();
  };
}

base::Status AnswerReader::take_event(std::string_view data) {
  TRY(const AnswerEvent event, parse_answer_event(data));
  if (!event.error.empty()) {
    fail(Failure::error_event, event.error);
    return base::error(ErrorCode::cancelled, "the server broke off");
  }
  if (event.generated) {
    record_.chunks_s.push_back(now_s_());
    if (text_.size() < kMaxTextBytes) text_ += event.text;
  }
  if (event.usage) {
    record_.counted = true;
    record_.prompt_tokens = event.usage->prompt_tokens;
    record_.cached_tokens = event.usage->cached_tokens;
    record_.output_tokens = event.usage->output_tokens;
  }
  finished_ = finished_ || event.done || !event.finish_reason.empty();
  return base::ok();
}

void AnswerReader::fail(Failure failure, std::string message) {
  if (record_.failure != Failure::none) return;
  record_.failure = failure;
  record_.message = std::move(message);
}

void AnswerReader::judge(const base::Result<net::HttpReply>& outcome) {
  if (record_.failure != Failure::none || (finished_ && record_.first_s >= 0)) return;
  if (!outcome.ok()) return fail(failure_of(outcome.error().code), outcome.error().message);
  if (outcome->status != 200) {
    record_.http_status = outcome->status;
    return fail(Failure::refused, error_text(refusal_));
  }
  if (finished_) return fail(Failure::empty, "finished without a token");
  if (record_.first_s >= 0) return fail(Failure::cut, "the stream ended before its answer did");
  fail(Failure::malformed, "no event of the API came");
}

void AnswerReader::conclude(const base::Result<net::HttpReply>& outcome) {
  record_.end_s = now_s_();
  if (!record_.chunks_s.empty()) record_.first_s = record_.chunks_s.front();
  if (!record_.counted || record_.output_tokens == 0)
    record_.output_tokens = static_cast<int>(record_.chunks_s.size());
  judge(outcome);
}

}  // namespace kvasir::bench
