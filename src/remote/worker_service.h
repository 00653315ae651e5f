#pragma once

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include "remote/gateway_links.h"

namespace kvasir::remote {

// A worker's answers to gRPC calls. Only this folder includes this header.
class WorkerService final : public proto::Worker::CallbackService {
 public:
  explicit WorkerService(GatewayLinks& links) : links_(links) {}
  grpc::ServerBidiReactor<proto::ToWorker, proto::ToGateway>* Connect(
      grpc::CallbackServerContext* context) override;
  grpc::ServerWriteReactor<proto::TextPiece>* ReadText(grpc::CallbackServerContext* context,
                                                       const proto::TextRequest* request) override;
  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context, const proto::EmbedRequest* request,
                                  proto::EmbedReply* reply) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const proto::DrainRequest* request,
                                  proto::DrainReply* reply) override;

  grpc::ServerWriteReactor<proto::KvBlock>* Prefill(grpc::CallbackServerContext* context,
                                                    const proto::PrefillRequest* request) override;

 private:
  GatewayLinks& links_;
};

}  // namespace kvasir::remote
