#include "remote/gateway_link.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <kvasir.grpc.pb.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "remote/codec.h"
#include "remote/protocol.h"
#include "remote/remote_fixture.h"

namespace kvasir::remote {
namespace {

using seam::TokenStream;

// A gateway for which the test writes every message.
class RawGateway {
 public:
  explicit RawGateway(int port)
      : stub_(proto::Worker::NewStub(
            grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + 30s);
    call_ = stub_->Connect(&context_);
  }
  ~RawGateway() {
    if (!call_) return;
    context_.TryCancel();
    (void)call_->Finish();
  }

  void write(const proto::ToWorker& message) { call_->Write(message); }
  void greet(int window_tokens) {
    proto::ToWorker message;
    set_protocols(*message.mutable_hello());
    message.mutable_hello()->set_gateway("raw");
    message.mutable_hello()->set_window_tokens(window_tokens);
    write(message);
  }
  void ask(std::uint64_t stream, const std::function<void(proto::Generate&)>& change = {}) {
    proto::ToWorker message;
    proto::Generate& generate = *message.add_generate();
    encode(request_of({1}), generate);
    generate.set_stream(stream);
    if (change) change(generate);
    write(message);
  }
  void give_credit(std::uint64_t stream, int tokens) {
    proto::ToWorker message;
    message.add_credit()->set_stream(stream);
    message.mutable_credit(0)->set_tokens(tokens);
    write(message);
  }
  // The next event of a stream; fails if the call ends first.
  proto::Event event_of(std::uint64_t stream) {
    for (proto::ToGateway message; call_->Read(&message);)
      for (const proto::Event& event : message.events())
        if (event.stream() == stream) return event;
    ADD_FAILURE() << "the call ended: " << end().error_message();
    return {};
  }
  // The status with which the worker closes the connection.
  grpc::Status end() {
    for (proto::ToGateway message; call_->Read(&message);) {
    }
    return std::exchange(call_, nullptr)->Finish();
  }

 private:
  const std::unique_ptr<proto::Worker::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<proto::ToWorker, proto::ToGateway>> call_;
};

class GatewayLinkTest : public RemoteTest {
 protected:
  std::unique_ptr<WorkerServer> server_ = serve(served_by(fed_));
  RawGateway gateway_{server_->port()};
};

TEST_F(GatewayLinkTest, AGatewayIntroducesItselfFirst) {
  gateway_.ask(1);
  const grpc::Status status = gateway_.end();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "a gateway must introduce itself first");
  EXPECT_EQ(fed_->num_asked(), 0u);
}

TEST_F(GatewayLinkTest, AGatewayIntroducesItselfOnce) {
  gateway_.greet(8);
  gateway_.greet(1 << 20);
  EXPECT_EQ(gateway_.end().error_message(), "a gateway introduced itself twice");
}

TEST_F(GatewayLinkTest, ANewerGatewayIsToldWhichVersionIsSpoken) {
  proto::ToWorker message;
  message.mutable_hello()->set_protocol(kProtocols.newest + 1);
  message.mutable_hello()->set_window_tokens(8);
  gateway_.write(message);
  EXPECT_NE(gateway_.end().error_message().find("speaks version"), std::string::npos);
}

TEST_F(GatewayLinkTest, CreditNeverExceedsTheWindow) {
  gateway_.greet(8);
  gateway_.ask(1);
  const auto stream = fed_->wait_for(0).stream;
  for (int i = 0; i < 4; ++i) gateway_.give_credit(1, std::numeric_limits<int>::max());
  // The next request comes after the credit.
  gateway_.ask(2);
  fed_->wait_for(1);
  TokenStream::send({{stream, tokens_event({1, 2, 3, 4, 5, 6, 7, 8})}});
  EXPECT_EQ(gateway_.event_of(1).tokens_size(), 8);
  TokenStream::send({{stream, tokens_event({9})}, {fed_->wait_for(1).stream, tokens_event({10})}});
  EXPECT_EQ(gateway_.event_of(2).tokens_size(), 1);
  EXPECT_EQ(stream->backlog(), 1);
  gateway_.give_credit(1, 1);
  EXPECT_EQ(gateway_.event_of(1).tokens_size(), 1);
}

TEST_F(GatewayLinkTest, GrammarsThatNeverCameRefuseTheirRequestAlone) {
  gateway_.greet(8);
  gateway_.ask(1, [](proto::Generate& generate) { generate.set_grammar_slot(GrammarSlots::kMost + 1); });
  EXPECT_TRUE(gateway_.event_of(1).has_error());
  gateway_.ask(2, [](proto::Generate& generate) { generate.set_grammar_slot(3); });
  EXPECT_TRUE(gateway_.event_of(2).has_error());
  gateway_.ask(3);
  TokenStream::send({{fed_->wait_for(0).stream, tokens_event({5})}});
  EXPECT_EQ(gateway_.event_of(3).tokens_size(), 1);
}

}  // namespace
}  // namespace kvasir::remote
