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
  timeout,      // not finished in time
  cut,          // the stream ended before the answer did
  error_event,  // the stream reported an error
  malformed,    // not a stream of this API
  empty,        // finished without a single token
};

// One request as its client saw it. Times are in seconds since the phase began; -1: it did not happen.
struct RequestRecord {
  double scheduled_s = 0;  // when it was due to be sent
  double sent_s = 0;
  double first_s = -1;           // the first chunk with generated output
  double end_s = -1;             // the end of the stream, or the failure
  std::vector<double> chunks_s;  // of every chunk with generated output, including the first
  int prompt_tokens = 0;         // 0 if the server does not count
  int cached_tokens = 0;
  int output_tokens = 0;  // counted by the server, or the number of chunks
  bool counted = false;   // by the server
  int turn = 0;
  Failure failure = Failure::none;
  int http_status = 0;
  std::string message;  // of a failure

  bool ok() const { return failure == Failure::none; }
  double ttft_s() const { return first_s - scheduled_s; }
  // Time per output token after the first; 0 if there was only one.
  double tpot_s() const { return output_tokens > 1 ? (chunks_s.back() - first_s) / (output_tokens - 1) : 0; }
  double latency_s() const { return end_s - scheduled_s; }
};

// "timeout", "cut", "http 503", etc.: the key for counting failures.
std::string kind_of(const RequestRecord& record);

}  // namespace kvasir::bench
