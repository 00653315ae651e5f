#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/answer/delta/delta_stream.h"
#include "api/answer/job/job.h"
#include "api/answer/run/generation_spans.h"
#include "api/http/record/request_meter.h"
#include "api/http/service/api_metrics.h"
#include "base/clock.h"
#include "tenancy/admission.h"
#include "upstream/call.h"

namespace kvasir::api {

// An answer that an upstream gives, as api::Generation is one of this server's own workers. Holds the permit
// and the call. Created, used and destroyed on the call's executor.
class UpstreamStream final : public DeltaStream {
 public:
  struct Parts {
    tenancy::Permit permit;
    std::shared_ptr<upstream::Call> call;
    const base::Clock& clock;
    ModelMetrics& metrics;
    std::shared_ptr<RequestMeter> meter;
    int estimated_prompt_tokens = 0;
    double queued_s = 0;
  };
  // `job` describes the request; only the constructor reads it.
  UpstreamStream(Parts parts, const Job& job);
  ~UpstreamStream() override;
  UpstreamStream(const UpstreamStream&) = delete;
  UpstreamStream& operator=(const UpstreamStream&) = delete;

  // Waits for at most `wait` until an answer has begun or the call has ended without one. Called until
  // `accepted`. The meter counts the request after an upstream has taken it.
  boost::asio::awaitable<void> wait_accepted(base::Duration wait);
  bool accepted() const { return call_->said_something() || call_->over(); }
  // Why there is no answer; absent if one has begun. An error ends the request.
  std::optional<base::Error> refuse();

  boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) override;
  bool over() const override { return cancelled_ || failure_ || finished_; }
  void cancel() override;
  bool cancelled() const override { return cancelled_; }
  wire::Usage usage() const override;
  int num_choices() const override { return static_cast<int>(choices_.size()); }

 private:
  struct Choice {
    std::set<int> calls;  // the indices of calls that have begun
    std::size_t num_chars = 0;
    int num_tokens = 0;
    bool finished = false;
    bool has_calls = false;
    std::optional<base::TimePoint> last_token = std::nullopt;
  };

  boost::asio::awaitable<void> sleep(base::Duration wait);
  std::vector<Delta> collect();
  Delta delta_of(upstream::SaidChoice said);
  void take_calls(std::vector<upstream::SaidCall> calls, Choice& choice, Delta& delta);
  void take_tokens(std::vector<upstream::SaidToken> tokens, Choice& choice, Delta& delta);
  void end(Choice& choice, const upstream::SaidChoice& said, Delta& delta);
  void measure(Choice& choice, int index, int num_tokens);
  // Ends the choices that the upstream left open although it said that it was done.
  void end_open_choices(std::vector<Delta>& deltas);
  void settle();

  tenancy::Permit permit_;
  const std::shared_ptr<upstream::Call> call_;
  const base::Clock& clock_;
  ModelMetrics& metrics_;
  const std::shared_ptr<RequestMeter> meter_;
  const int estimated_prompt_tokens_;
  const double queued_s_;
  const bool with_logprobs_;
  boost::asio::steady_timer wake_;
  const base::TimePoint started_;
  GenerationSpans spans_;
  std::vector<Choice> choices_;
  std::optional<upstream::SaidUsage> usage_;
  std::optional<base::TimePoint> first_token_;
  std::optional<base::Error> failure_;
  meter::Finish finish_ = meter::Finish::stop;  // how the first choice ended
  std::string model_;
  bool begun_ = false;  // the meter has counted the request
  bool finished_ = false;
  bool cancelled_ = false;
  bool settled_ = false;
};

}  // namespace kvasir::api
