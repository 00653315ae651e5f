#pragma once

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "remote/grammar_slots.h"
#include "remote/outbox.h"
#include "remote/remote_worker.h"
#include "remote/worker_view.h"

namespace kvasir::remote {

// The implementation of RemoteWorker: a gateway's connection to a worker, renewed whenever it is lost. The
// RemoteWorker ends the last call before it is destroyed. Only this folder includes this header.
class WorkerConnection : public std::enable_shared_from_this<WorkerConnection> {
 public:
  WorkerConnection(RemoteWorker::Options options, boost::asio::any_io_executor timers,
                   RemoteWorker::OnStanding on_standing);

  void connect();
  void stop();

  base::Result<seam::TokenReader> generate(wire::GenerateRequest request,
                                           boost::asio::any_io_executor reader);
  seam::Prospect prospect() const;
  wire::WorkerReport report() const;
  wire::Activity activity(std::uint64_t after_step);
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink);
  RemoteWorker::Standing standing() const;
  proto::Worker::Stub& stub() { return *stub_; }
  // Describes for an operator why a call failed.
  std::string reason_of(const grpc::Status& status) const;

 private:
  class Call;
  class Feedback;
  using Lock = std::unique_lock<std::mutex>;
  using Link = RemoteWorker::Link;
  struct OpenStream {
    std::shared_ptr<seam::TokenStream> stream;
    wire::Usage usage;
  };

  // Called by the call on gRPC's threads. `take` returns false if the message is invalid; then the call ends.
  bool take(const proto::ToGateway& message);
  void written();
  void ended(const grpc::Status& status);
  // Called after the call was destroyed and has released the channel. The last reference to the channel must
  // not be dropped on a gRPC thread, which would wait for itself.
  void released();
  // Called by a stream's reader.
  void add_credit(std::uint64_t stream, int tokens);
  void abort(std::uint64_t stream);

  base::Status admits(const wire::GenerateRequest& request, const Lock& lock) const;
  void flush(const Lock& lock);
  base::Status check_card(const proto::Card& message, const wire::WorkerCard& card, const Lock& lock) const;
  base::Status take_card(const proto::Card& message, Lock& lock);
  base::Status take_events(const proto::ToGateway& message, Lock& lock);
  base::Status take_report(const proto::Report& message, Lock& lock);
  base::Status take_blocks(const proto::ToGateway& message, Lock& lock);
  void retry_later(const Lock& lock);
  void tell();

  const RemoteWorker::Options options_;
  const RemoteWorker::OnStanding on_standing_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<proto::Worker::Stub> stub_;
  std::mutex telling_;  // held during a call of on_standing_
  mutable std::mutex mutex_;
  std::condition_variable call_freed_;

  // All members below are guarded by mutex_.
  std::optional<boost::asio::steady_timer> retry_;  // none once stopped
  std::string fingerprint_;                         // of the wanted worker; empty: the first one decides
  std::string text_digest_;                         // of the wanted worker; empty: the first one decides
  Call* call_ = nullptr;                            // deletes itself; null once it has ended
  bool has_call_ = false;                           // true until the call was destroyed
  bool stopping_ = false;
  std::string breach_;    // the nonsense that the worker sent, if that ends the connection
  int num_attempts_ = 0;  // since the connection was last ready
  RemoteWorker::Standing standing_;
  int vocab_size_ = 0;
  int max_queue_ = 0;
  std::uint64_t last_stream_ = 0;
  std::unordered_map<std::uint64_t, OpenStream> streams_;
  GrammarSlots slots_;  // of this connection
  Outbox outbox_;
  bool writing_ = false;
  WorkerView view_;
  bool asked_activity_ = false;
  std::shared_ptr<seam::BlockSink> sink_;
};

}  // namespace kvasir::remote
