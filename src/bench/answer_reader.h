#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/request_record.h"
#include "net/http_client.h"
#include "net/sse_reader.h"

namespace kvasir::bench {

// Reads one streamed answer into its record as the bytes arrive, and decides how the answer ended. Used by
// one thread. Must not move while the exchange runs.
class AnswerReader {
 public:
  // `now_s` returns the seconds since the phase began.
  AnswerReader(RequestRecord& record, std::function<double()> now_s);
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  const net::ReplySink& sink() const { return sink_; }
  // Fills in the record's end, counts and failure. Called after the exchange.
  void conclude(const base::Result<net::HttpReply>& outcome);

  const std::string& text() const { return text_; }

 private:
  base::Status take_event(std::string_view data);
  void fail(Failure failure, std::string message);
  void judge(const base::Result<net::HttpReply>& outcome);

  RequestRecord& record_;
  const std::function<double()> now_s_;
  net::SseReader events_;
  net::ReplySink sink_;
  std::string refusal_;
  std::string text_;
  bool finished_ = false;  // a finish reason or [DONE] was seen
};

// Returns the message in an API's error body, or the beginning of a body that has another format.
std::string error_text(const std::string& body);

}  // namespace kvasir::bench
