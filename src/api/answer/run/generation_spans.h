#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/job/job.h"
#include "api/http/service/request_trace.h"
#include "base/clock.h"
#include "meter/usage_record.h"
#include "wire/token_event.h"

namespace kvasir::api {

// Writes the spans of one generation to its request's trace: how long its sequences waited, how their prompts
// were computed, and how long their answers took. Used on the request's executor.
class GenerationSpans {
 public:
  GenerationSpans(std::shared_ptr<RequestTrace> trace, base::TimePoint started);

  void begin(const Job& job);
  // Notes how the prompt of a choice was computed. Called more than once if the choice was preempted.
  void note_prefill(int choice, const std::vector<wire::PrefillChunk>& chunks);
  void note_first_token(int choice, base::TimePoint time);
  void note_decode(int choice, base::TimePoint first_token, base::TimePoint last_token);
  // Called once, at the end. `failure` is null if the generation did not fail.
  void end(const wire::Usage& usage, meter::Finish finish, const base::Error* failure);

 private:
  obs::Trace& spans() { return *trace_->spans; }
  obs::Trace::Index add(const char* name, int choice, base::TimePoint start, base::TimePoint end);

  const std::shared_ptr<RequestTrace> trace_;
  const base::TimePoint started_;
  obs::Trace::Index root_ = obs::Trace::kNone;
  int num_choices_ = 1;
  std::vector<bool> has_queued_;  // by choice: whether the wait in the queue has a span
};

}  // namespace kvasir::api
