#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvasir::bench {

// Why a request failed.
enum class Failure {
  none,
  connect,      // no connection could be made
  refused,      // an HTTP status other than 200
  timeout,      // the answer was not finished in time
  cut,          // the stream ended before the answer did
  error_event,  // the stream reported an error
  malformed,    // the answer was not a stream of this API
  empty,        // the answer was finished without a single token
};

// One request as its client saw it. Times are in seconds since the phase began; -1: it did not happen.
struct RequestRecord {
  double scheduled_s = 0;  // when it was due to be sent
  double sent_s = 0;
  double first_s = -1;           // when the first chunk with generated output arrived
  double end_s = -1;             // when the stream ended or failed
  std::vector<double> chunks_s;  // when each chunk with generated output arrived, also the first
  int prompt_tokens = 0;         // 0 if the server does not count
  int cached_tokens = 0;
  int output_tokens = 0;  // the server's count, or else the number of chunks
  bool counted = false;   // the server counted `output_tokens`
  int turn = 0;
  Failure failure = Failure::none;
  int http_status = 0;
  std::string message;  // the message of a failure

  bool ok() const { return failure == Failure::none; }
  double ttft_s() const { return first_s - scheduled_s; }
  // Returns the time per output token after the first, or 0 if there was only one token.
  double tpot_s() const { return output_tokens > 1 ? (chunks_s.back() - first_s) / (output_tokens - 1) : 0; }
  double latency_s() const { return end_s - scheduled_s; }
};

// Returns the kind under which a failure is counted: "timeout", "cut", "http 503", etc.
std::string kind_of(const RequestRecord& record);

}  // namespace kvasir::bench
