#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/delta/choice.h"
#include "api/answer/delta/delta_stream.h"
#include "api/answer/job/job.h"
#include "api/answer/run/generation_spans.h"
#include "api/http/record/request_meter.h"
#include "api/http/service/api_metrics.h"
#include "api/http/service/promise.h"
#include "base/clock.h"
#include "router/replayed_stream.h"
#include "sched/caution.h"
#include "tenancy/admission.h"

namespace kvasir::api {

// All running sequences of one request. Holds the permit and the streams, which hold leases. Its destructor
// cancels every sequence that has not ended, whether it is queued, in prefill or in decode. Created, used and
// destroyed on the executor that reads its streams.
class Generation final : public DeltaStream {
 public:
  struct Surroundings {
    boost::asio::any_io_executor executor;
    const base::Clock& clock;
    ModelMetrics& metrics;
    sched::Caution& caution;
    std::shared_ptr<RequestMeter> meter;
    Promise promise = {};
  };

  // Queues every sequence or none: if the worker refuses one, the others are cancelled.
  static base::Result<std::unique_ptr<Generation>> start(Job job, tenancy::Permit permit,
                                                         std::shared_ptr<router::Itinerary> itinerary,
                                                         Surroundings surroundings);
  ~Generation() override;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // An error of one sequence ends all of them.
  boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) override;
  bool over() const override;
  void cancel() override;
  bool cancelled() const override { return cancelled_; }
  wire::Usage usage() const override;
  int num_choices() const override { return static_cast<int>(running_.size()); }

 private:
  struct Running {
    std::shared_ptr<router::ReplayedStream> stream;  // never null
    Choice choice;
    int num_prompt_tokens = 0;
    std::optional<base::TimePoint> first_token = std::nullopt;
    std::optional<base::TimePoint> last_token = std::nullopt;
    std::size_t num_tokens = 0;
  };

  Generation(int num_choices_per_prompt, tenancy::Permit permit, Surroundings surroundings);
  // `job` is the job without its sequences, which have been moved out of it.
  base::Status start_sequences(std::vector<wire::GenerateRequest> sequences, const Job& job,
                               const std::shared_ptr<router::Itinerary>& itinerary);
  base::Result<std::vector<Delta>> collect();
  void measure(const wire::TokenEvent& event, int choice, Running& one);
  // Records that the first token of all choices came this long after the start.
  void measure_first(double seconds);
  // The mean time between the tokens of the slowest choice. It is 0 if no choice has two tokens.
  double slowest_pace_s() const;
  bool all_finished() const;
  // Runs once, when the generation is over. Counts tokens that were generated but not read, and reports to
  // the permit, the meter and the metrics what was used.
  void settle();
  // A request that failed before its first token costs nothing.
  void settle_permit(const wire::Usage& total);
  void end_spans(const wire::Usage& total, meter::Finish finish);

  tenancy::Permit permit_;
  const int num_choices_per_prompt_;
  boost::asio::any_io_executor executor_;
  const base::Clock& clock_;
  ModelMetrics& metrics_;
  sched::Caution& caution_;
  const std::shared_ptr<RequestMeter> meter_;
  const Promise promise_;
  boost::asio::steady_timer wake_;
  std::vector<Running> running_;
  bool cancelled_ = false;
  std::optional<base::Error> failure_;
  base::TimePoint started_;
  GenerationSpans spans_;
  bool any_token_ = false;
  bool running_all_ = false;  // true after the worker has taken every sequence
  bool settled_ = false;
  meter::Finish finish_ = meter::Finish::stop;  // how the first choice ended
};

}  // namespace kvasir::api
