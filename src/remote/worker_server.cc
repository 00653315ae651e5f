#include "remote/worker_server.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "remote/gateway_links.h"
#include "remote/grpc_peer.h"
#include "remote/worker_service.h"

namespace kvasir::remote {

using base::ErrorCode;
using base::Result;

namespace {

// The WorkerClient of a worker that makes vectors: it reports, but generates no text.
class MakesNoText final : public seam::WorkerClient {
 public:
  explicit MakesNoText(std::shared_ptr<seam::EmbedClient> embedder) : embedder_(std::move(embedder)) {}
  Result<seam::TokenReader> generate(wire::GenerateRequest /*request*/,
                                     boost::asio::any_io_executor /*reader*/) override {
    return base::error(ErrorCode::unsupported, "this worker makes vectors and generates no text");
  }
  wire::Forecast forecast(const wire::Outline& /*outline*/) const override { return {}; }
  wire::WorkerReport report() const override { return embedder_->report(); }

 private:
  const std::shared_ptr<seam::EmbedClient> embedder_;
};

}  // namespace

class WorkerServer::Impl {
 public:
  Impl(Options options, Served served)
      : card(served.card), links(std::move(options), std::move(served)), service(links) {}
  ~Impl();

  base::Status start();

  wire::WorkerCard card;
  GatewayLinks links;
  WorkerService service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

base::Status WorkerServer::Impl::start() {
  const Options& options = links.options();
  TRY_OK(check_address(options.listen, options.peer));
  quiet_grpc();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.listen, server_credentials(options.peer), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMostMessageBytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Gateways ping often to notice a worker that hangs. The server pings too, to notice gateways that hang.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  server = builder.BuildAndStart();
  if (!server || port == 0)
    return base::error(ErrorCode::unavailable,
                       "cannot listen on {} for gateways; choose another with --listen", options.listen);
  card.address = options.listen.substr(0, options.listen.rfind(':') + 1) + std::to_string(port);
  links.start();
  return base::ok();
}

// Gateways get the reason why their streams end before the connection ends.
WorkerServer::Impl::~Impl() {
  links.close();
  if (!server) return;
  server->Shutdown(std::chrono::system_clock::now());
  links.wait_none();
  server->Wait();
}

WorkerServer::WorkerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerServer::~WorkerServer() = default;

Result<std::unique_ptr<WorkerServer>> WorkerServer::start(Options options, Served served) {
  served.card.text_digest = digest_of(served.text);
  if (served.embedder) {
    served.card.dimensions = served.embedder->dimensions();
    served.worker = std::make_shared<MakesNoText>(served.embedder);
  }
  served.card.kv = served.worker->block_form();
  auto impl = std::make_unique<Impl>(std::move(options), std::move(served));
  TRY_OK(impl->start());
  return std::unique_ptr<WorkerServer>(new WorkerServer(std::move(impl)));
}

int WorkerServer::port() const {
  return impl_->port;
}

const wire::WorkerCard& WorkerServer::card() const {
  return impl_->card;
}

void WorkerServer::drain() {
  impl_->links.drain();
}

bool WorkerServer::wait_idle(base::Duration timeout) const {
  return impl_->links.wait_idle(timeout);
}

WorkerServer::Stats WorkerServer::stats() const {
  return impl_->links.stats();
}

}  // namespace kvasir::remote
