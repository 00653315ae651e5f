#pragma once

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "remote/recording.h"

namespace kvasir::remote {

// For tests: passes messages between a gateway and a worker, and records them. Thread-safe.
class RecordingProxy final : public proto::Worker::Service {
 public:
  explicit RecordingProxy(int worker_port)
      : stub_(proto::Worker::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(worker_port),
                                                         grpc::InsecureChannelCredentials()))) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  int port() const { return port_; }
  // Call it after both have ended.
  Recording recording() const {
    const std::lock_guard lock(mutex_);
    return recording_;
  }

  grpc::Status Connect(grpc::ServerContext* /*context*/,
                       grpc::ServerReaderWriter<proto::ToGateway, proto::ToWorker>* gateway) override {
    grpc::ClientContext context;
    const auto worker = stub_->Connect(&context);
    std::thread up([&] {
      for (proto::ToGateway message; worker->Read(&message);) {
        note('w', message);
        gateway->Write(message);
      }
    });
    for (proto::ToWorker message; gateway->Read(&message);) {
      note('g', message);
      worker->Write(message);
    }
    context.TryCancel();
    up.join();
    return worker->Finish();
  }
  grpc::Status ReadText(grpc::ServerContext* /*context*/, const proto::TextRequest* request,
                        grpc::ServerWriter<proto::TextPiece>* gateway) override {
    grpc::ClientContext context;
    const auto worker = stub_->ReadText(&context, *request);
    for (proto::TextPiece piece; worker->Read(&piece);) {
      note('t', piece);
      gateway->Write(piece);
    }
    return worker->Finish();
  }

 private:
  template <class Message>
  void note(char who, const Message& message) {
    const std::lock_guard lock(mutex_);
    recording_.push_back({who, message.SerializeAsString()});
  }

  const std::unique_ptr<proto::Worker::Stub> stub_;
  mutable std::mutex mutex_;
  Recording recording_;  // guarded by mutex_
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // declared last: its calls use the other members
};

}  // namespace kvasir::remote
