#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <kvasir.grpc.pb.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "remote/recording.h"

// For tests: plays one end of a recorded connection to a real other end.
namespace kvasir::remote {

// Sends the recorded gateway's messages, each once the streams have as many tokens as they had in the
// recording.
class PlayedGateway {
 public:
  PlayedGateway(const Recording& recording, int worker_port)
      : recording_(recording),
        stub_(proto::Worker::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(worker_port),
                                                         grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    call_ = stub_->Connect(&context_);
  }
  // Returns the tokens that the worker sent, once all streams have ended well.
  TokensByStream play() {
    TokensByStream told;
    for (const Said& said : recording_) {
      if (said.who == 'w') add_tokens(parsed<proto::ToGateway>(said), told);
      if (said.who != 'g') continue;
      read_until([&] { return has(told); });
      const auto message = parsed<proto::ToWorker>(said);
      for (const proto::Generate& generate : message.generate()) open_.insert(generate.stream());
      call_->Write(message);
    }
    read_until([&] { return open_.empty(); });
    return tokens_;
  }
  // Returns why the worker closes the connection.
  grpc::Status end() {
    call_->Write(parsed<proto::ToWorker>(recording_.front()));
    for (proto::ToGateway message; call_->Read(&message);) {
    }
    return std::exchange(call_, nullptr)->Finish();
  }
  ~PlayedGateway() {
    if (!call_) return;
    context_.TryCancel();
    (void)call_->Finish();
  }

 private:
  bool has(const TokensByStream& told) {
    for (const auto& [stream, tokens] : told)
      if (tokens_[stream].size() < tokens.size()) return false;
    return true;
  }
  template <class Condition>
  void read_until(Condition condition) {
    for (proto::ToGateway message; !condition();) {
      if (!call_->Read(&message)) FAIL() << "the worker hung up";
      add_tokens(message, tokens_);
      for (const proto::Event& event : message.events()) {
        EXPECT_FALSE(event.has_error()) << event.error().message();
        if (event.finish() != 0 || event.has_error()) open_.erase(event.stream());
      }
    }
  }

  const Recording recording_;
  const std::unique_ptr<proto::Worker::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<proto::ToWorker, proto::ToGateway>> call_;
  TokensByStream tokens_;
  std::set<std::uint64_t> open_;
};

// Sends the recorded worker's messages, each once the gateway has sent as many requests as the recorded one
// had.
class PlayedWorker final : public proto::Worker::Service {
 public:
  explicit PlayedWorker(Recording recording) : recording_(std::move(recording)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  int port() const { return port_; }

  grpc::Status Connect(grpc::ServerContext* /*context*/,
                       grpc::ServerReaderWriter<proto::ToGateway, proto::ToWorker>* gateway) override {
    int num_due = 0;  // hellos and requests that must have come by now
    int num_here = 0;
    proto::ToWorker heard;
    for (const Said& said : recording_) {
      if (said.who == 'g') num_due += count(parsed<proto::ToWorker>(said));
      if (said.who != 'w') continue;
      while (num_here < num_due) {
        if (!gateway->Read(&heard)) return grpc::Status::CANCELLED;
        num_here += count(heard);
      }
      gateway->Write(parsed<proto::ToGateway>(said));
    }
    while (gateway->Read(&heard)) {
    }
    return grpc::Status::OK;
  }
  grpc::Status ReadText(grpc::ServerContext* /*context*/, const proto::TextRequest* /*request*/,
                        grpc::ServerWriter<proto::TextPiece>* gateway) override {
    for (const Said& said : recording_)
      if (said.who == 't') gateway->Write(parsed<proto::TextPiece>(said));
    return grpc::Status::OK;
  }

 private:
  static int count(const proto::ToWorker& message) {
    return message.generate_size() + (message.has_hello() ? 1 : 0);
  }

  const Recording recording_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // declared last: its calls use the other members
};

}  // namespace kvasir::remote
