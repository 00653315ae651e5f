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

// One sequence's events, across workers: when its worker is lost, the request and its output so far go to
// another worker, and the reader sees only a pause. A sequence on a worker in this process cannot move, so no
// copy of its request is kept. Touched on the reader's executor only, whose context outlives the stream.
// Destroying the stream cancels the sequence.
class ReplayedStream : public std::enable_shared_from_this<ReplayedStream> {
 public:
  // How long it looks for another worker. A restarted worker is back within this time.
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
  // Afterwards the stream has a worker, waits for one, or has failed.
  void look_for_worker();
  void wait_for_worker();

  const std::shared_ptr<Itinerary> itinerary_;
  const boost::asio::any_io_executor reader_;
  Itinerary::Stay stay_;                          // the present or the last worker
  std::optional<wire::GenerateRequest> request_;  // with its output so far; empty: cannot move
  std::optional<seam::TokenReader> stream_;       // empty while it has no worker
  std::function<void()> on_event_;
  std::optional<base::Error> failure_;  // not yet given to the reader; there is no worker then
  bool is_cancelled_ = false;
  wire::Usage usage_;         // as of the last event
  wire::Usage usage_before_;  // on the workers that were lost
  int num_moves_ = 0;         // to another worker
  std::optional<boost::asio::steady_timer> timer_;
  std::chrono::milliseconds pause_{0};
  boost::asio::steady_timer::time_point patient_until_;
};

}  // namespace kvasir::router
