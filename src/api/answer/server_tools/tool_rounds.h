#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/answer/delta/delta_stream.h"
#include "api/answer/delta/server_call.h"
#include "api/answer/encode/encode.h"
#include "api/answer/question/chat_request.h"
#include "api/answer/run/generation.h"
#include "api/http/caller/caller.h"
#include "api/http/service/service.h"
#include "api/http/work/text_task.h"

namespace kvasir::api {

// An answer whose model may call tools of this server. Runs the calls and gives their results to the model,
// for a bounded number of rounds; in the last round the model may not call. The reader sees one stream of
// deltas, which includes calls and results. A call of the client's own functions ends the answer as usual.
// Used on one executor.
class ToolRounds final : public DeltaStream {
 public:
  struct Parts {
    Service& service;
    boost::asio::any_io_executor executor;
    Asker asker;
    std::shared_ptr<const ChatRequest> chat;  // includes this server's tools
    ContextReport context;                    // describes the first round
  };
  ToolRounds(Parts parts, std::unique_ptr<Generation> first);
  ~ToolRounds() override;
  ToolRounds(const ToolRounds&) = delete;
  ToolRounds& operator=(const ToolRounds&) = delete;

  boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) override;
  bool over() const override { return finished_ || cancelled_ || told_failure_; }
  void cancel() override;
  bool cancelled() const override { return cancelled_; }
  wire::Usage usage() const override;
  int num_choices() const override { return 1; }

 private:
  enum class Stage : std::uint8_t { generating, calling, encoding };
  // A call that runs. Shared with the callback of its end; touched on the executor only.
  struct Running {
    ToolRounds* rounds;  // null after the rounds are destroyed
    ServerCall call;
    base::TimePoint started;
    obs::Trace::Index span;
    bool told = false;  // the reader was given its end
  };

  boost::asio::awaitable<std::vector<Delta>> step(base::Duration wait);
  void take(Delta delta, std::vector<Delta>& out);
  bool runs_here(const std::string& name) const;
  void end_generation(std::vector<Delta>& out);
  void start_calls(std::vector<Delta>& out);
  std::shared_ptr<Running> begin_call(const ServerCall& call);
  void end_call(Running& running, tool::Outcome outcome);
  void tell_ended(std::vector<Delta>& out);
  void end_calls(std::vector<Delta>& out);
  void add_messages();
  void say_results_are_too_long();
  void begin_encoding();
  base::Status encode_next(ChatRequest request);
  void start_generation();
  obs::Trace& spans() const { return *parts_.asker.meter->trace()->spans; }
  void fail(base::Error error) { failure_ = std::move(error); }

  Parts parts_;
  std::unique_ptr<Generation> generation_;
  Stage stage_ = Stage::generating;
  boost::asio::steady_timer wake_;
  std::stop_source given_up_;

  json::array messages_;             // the whole chat so far
  ToolRound round_;                  // the current round
  Delta ending_;                     // how the current generation ended
  std::map<int, int> client_calls_;  // in this round: from the model's call index to the client's
  std::map<int, std::size_t> server_calls_;
  std::vector<std::shared_ptr<Running>> running_;
  std::unique_ptr<TextTask<Encoded>> encoding_;
  obs::Trace::Index encoding_span_ = obs::Trace::kNone;
  bool shortened_ = false;  // the round's results were replaced because they did not fit

  int num_rounds_ = 0;  // rounds that ended in calls
  int num_calls_ = 0;
  wire::Usage used_;  // the usage of the rounds that have ended
  bool finished_ = false;
  bool cancelled_ = false;
  std::optional<base::Error> failure_;
  bool told_failure_ = false;  // `next` has returned the failure; deltas before it go out first
};

}  // namespace kvasir::api
