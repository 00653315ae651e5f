#include "remote/remote_worker.h"

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <utility>

#include "remote/codec.h"
#include "remote/embed_calls.h"
#include "remote/grpc_peer.h"
#include "remote/worker_connection.h"
#include "sched/scheduler.h"

namespace kvasir::remote {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;
constexpr double kLongest_s = 1e9;

// A worker that reports nonsense must not spoil comparisons with others, as a NaN would.
bool makes_sense(const wire::Forecast& forecast) {
  for (const wire::Latency& latency : {forecast.expected, forecast.alone, forecast.slo})
    for (const double seconds : {latency.ttft_s, latency.tpot_s})
      if (!(seconds >= 0 && seconds <= kLongest_s)) return false;
  return true;
}

void set_deadline(grpc::ClientContext& context, base::Duration timeout) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
}

}  // namespace

Result<std::shared_ptr<RemoteWorker>> RemoteWorker::create(Options options, asio::any_io_executor timers,
                                                           OnStanding on_standing) {
  TRY_OK(check_address(options.address, options.peer));
  if (options.id.empty()) options.id = options.address;
  quiet_grpc();
  auto connection =
      std::make_shared<WorkerConnection>(std::move(options), std::move(timers), std::move(on_standing));
  connection->connect();
  return std::shared_ptr<RemoteWorker>(new RemoteWorker(std::move(connection)));
}

RemoteWorker::RemoteWorker(std::shared_ptr<WorkerConnection> connection)
    : connection_(std::move(connection)), embeds_(std::make_unique<EmbedCalls>(connection_)) {}

RemoteWorker::~RemoteWorker() {
  stop();
}

void RemoteWorker::stop() {
  embeds_->stop();
  connection_->stop();
}

base::Status RemoteWorker::embed(wire::EmbedRequest request, seam::EmbedClient::Done done) {
  return embeds_->start(std::move(request), std::move(done));
}

Result<seam::TokenReader> RemoteWorker::generate(wire::GenerateRequest request,
                                                 asio::any_io_executor reader) {
  return connection_->generate(std::move(request), std::move(reader));
}

wire::Forecast RemoteWorker::forecast(const wire::Outline& outline) const {
  const seam::Prospect prospect = connection_->prospect();
  if (!prospect.outlook) return {};
  const wire::Forecast forecast = sched::forecast(*prospect.outlook, prospect.arrived, outline,
                                                  outline.num_cached_tokens.value_or(0), prospect.age_s);
  return makes_sense(forecast) ? forecast : wire::Forecast{};
}

seam::Prospect RemoteWorker::prospect() const {
  return connection_->prospect();
}

wire::WorkerReport RemoteWorker::report() const {
  return connection_->report();
}

wire::Activity RemoteWorker::activity(std::uint64_t after_step) {
  return connection_->activity(after_step);
}

void RemoteWorker::watch_blocks(std::shared_ptr<seam::BlockSink> sink) {
  connection_->watch_blocks(std::move(sink));
}

RemoteWorker::Standing RemoteWorker::standing() const {
  return connection_->standing();
}

Result<TextAssets> RemoteWorker::read_text(base::Duration timeout) {
  grpc::ClientContext context;
  set_deadline(context, timeout);
  const auto reader = connection_->stub().ReadText(&context, {});
  std::string bytes;
  std::optional<proto::TextHead> head;
  proto::TextPiece piece;
  while (reader->Read(&piece)) {
    if (piece.has_head()) head = piece.head();
    bytes += piece.data();
    if (bytes.size() > kMostTextBytes) context.TryCancel();
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok())
    return base::error(ErrorCode::unavailable, "the worker's tokenizer did not come: {}",
                       connection_->reason_of(status));
  if (!head) return base::error(ErrorCode::corrupt, "the worker's tokenizer came without its head");
  TextAssets assets = decode(*head);
  std::size_t at = 0;
  for (std::size_t i = 0; i < assets.files.size(); ++i) {
    const std::uint64_t size = head->files(static_cast<int>(i)).size();
    if (size > bytes.size() - at)
      return base::error(ErrorCode::corrupt, "the worker's tokenizer came in part");
    assets.files[i].bytes = bytes.substr(at, size);
    at += size;
  }
  return assets;
}

base::Status RemoteWorker::drain(base::Duration timeout) {
  grpc::ClientContext context;
  set_deadline(context, timeout);
  proto::DrainReply reply;
  const grpc::Status status = connection_->stub().Drain(&context, {}, &reply);
  if (status.ok()) return base::ok();
  return base::error(ErrorCode::unavailable, "the worker could not be asked: {}",
                     connection_->reason_of(status));
}

}  // namespace kvasir::remote
