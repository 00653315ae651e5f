#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "router/itinerary.h"
#include "seam/token_stream.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::router {

// One sequence's events, for as long as there is a worker for it: when its worker is lost, the request and
// its output so far go to another one, and the reader sees a pause. A sequence on a worker in this process
// ends with that worker, and costs nothing here. Touched on the reader's executor only, whose context
// outlives it. Destroying it cancels the sequence.
class ReplayedStream : public std::enable_shared_from_this<ReplayedStream> {
 public:
  // How long it looks for another worker. One that is restarted is back within this time.
  static constexpr std::chrono::seconds kPatience{30};

  // Queues the request at the itinerary's worker, or at another one if that one is lost.
  static base::Result<std::shared_ptr<ReplayedStream>> begin(std::shared_ptr<Itinerary> itinerary,
                                                             wire::GenerateRequest request,
                                                             boost::asio::any_io_executor reader);
  ~ReplayedStream() = default;
  ReplayedStream(const ReplayedStream&) = delete;
  ReplayedStream& operator=(const ReplayedStream&) = delete;

  // See seam::TokenStream.
  std::optional<wire::TokenEvent> take();
  void on_event(std::function<void()> callback);
  void cancel();

 private:
  ReplayedStream(std::shared_ptr<Itinerary> itinerary, boost::asio::any_io_executor reader);

  base::Status ask(wire::GenerateRequest request);
  void note(wire::TokenEvent& event);
  void lose(const base::Error& why);
  // Afterwards it has a worker, or waits for one, or has failed.
  void look_for_worker();
  void wait_for_worker();

  const std::shared_ptr<Itinerary> itinerary_;
  const boost::asio::any_io_executor reader_;
  Itinerary::Stay stay_;                          // the worker that has it, or had it
  std::optional<wire::GenerateRequest> request_;  // to be asked again, with the output so far; empty: never
  std::optional<seam::TokenReader> stream_;       // empty while it has no worker
  std::function<void()> on_event_;
  std::optional<base::Error> failure_;  // to be told; there is no worker then
  bool is_cancelled_ = false;
  wire::Usage usage_;         // as of the last event
  wire::Usage usage_before_;  // of the workers that were lost
  int num_moves_ = 0;         // to another worker
  std::optional<boost::asio::steady_timer> timer_;
  std::chrono::milliseconds pause_{0};
  boost::asio::steady_timer::time_point patient_until_;
};

}  // namespace kvasir::router
