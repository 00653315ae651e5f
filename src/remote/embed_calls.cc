#include "remote/embed_calls.h"

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <optional>
#include <utility>

#include "remote/codec.h"
#include "remote/worker_connection.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {

using base::Error;
using base::ErrorCode;

namespace {

Error lost(std::string why) {
  return {.code = ErrorCode::unavailable,
          .message = "the worker is not there: " + std::move(why),
          .reason = std::string(wire::kWorkerLost),
          .retry_after_s = 1};
}

}  // namespace

struct EmbedCalls::Call {
  grpc::ClientContext context;
  proto::EmbedRequest request;
  proto::EmbedReply reply;
  grpc::Status status;
  std::size_t num_numbers = 0;
  seam::EmbedClient::Done done;
  std::stop_token stop;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;  // cancels the call if the client leaves
};

base::Status EmbedCalls::start(wire::EmbedRequest request, seam::EmbedClient::Done done) {
  const RemoteWorker::Standing standing = connection_->standing();
  if (standing.link != RemoteWorker::Link::ready) return lost(standing.reason);
  if (standing.draining) {
    Error leaving = lost("it is being drained");
    leaving.reason = wire::kDraining;
    return leaving;
  }
  auto call = std::make_shared<Call>();
  encode(request, call->request);
  call->num_numbers = request.sequences.size() * static_cast<std::size_t>(standing.card->dimensions);
  call->done = std::move(done);
  call->stop = request.stop;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return lost("the gateway ends");
    calls_.emplace(call.get(), call);
  }
  call->on_stop.emplace(call->stop, [raw = call.get()] { raw->context.TryCancel(); });
  connection_->stub().async()->Embed(&call->context, &call->request, &call->reply,
                                     [this, raw = call.get()](const grpc::Status& status) {
                                       raw->status = status;
                                       finish(*raw);
                                     });
  return base::ok();
}

void EmbedCalls::finish(Call& call) {
  if (call.status.ok())
    call.done(decode(call.reply, call.num_numbers));
  else if (call.stop.stop_requested())
    call.done(base::error(ErrorCode::cancelled, "the client left"));
  else
    call.done(lost(connection_->reason_of(call.status)));
  call.on_stop.reset();  // without the lock, since it may wait for a running stop callback
  const std::lock_guard lock(mutex_);
  calls_.erase(&call);
  ended_.notify_all();
}

int EmbedCalls::num_running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(calls_.size());
}

void EmbedCalls::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (const auto& [raw, call] : calls_) call->context.TryCancel();
  ended_.wait(lock, [this] { return calls_.empty(); });
}

}  // namespace kvasir::remote
