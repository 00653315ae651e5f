#include "remote/worker_service.h"

#include "remote/codec.h"
#include "remote/gateway_link.h"
#include "remote/prefill_call.h"

namespace kvasir::remote {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Sends the text's head, then its files in pieces. It deletes itself when the call has ended.
class TextWriter final : public grpc::ServerWriteReactor<proto::TextPiece> {
 public:
  explicit TextWriter(const TextAssets& text) : files_(text.files) {
    encode(text, *piece_.mutable_head());
    StartWrite(&piece_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    while (file_ < files_.size() && at_ >= files_[file_].bytes.size()) {
      ++file_;
      at_ = 0;
    }
    if (file_ == files_.size()) return Finish(grpc::Status::OK);
    piece_.Clear();
    piece_.set_data(files_[file_].bytes.substr(at_, kPieceBytes));
    at_ += kPieceBytes;
    StartWrite(&piece_);
  }
  void OnDone() override { delete this; }

 private:
  const std::vector<TextFile>& files_;  // they live as long as the server
  proto::TextPiece piece_;
  std::size_t file_ = 0;
  std::size_t at_ = 0;  // of the file's bytes
};

}  // namespace

grpc::ServerBidiReactor<proto::ToWorker, proto::ToGateway>* WorkerService::Connect(
    grpc::CallbackServerContext* /*context*/) {
  return new GatewayLink(links_);
}

grpc::ServerWriteReactor<proto::TextPiece>* WorkerService::ReadText(grpc::CallbackServerContext* /*context*/,
                                                                    const proto::TextRequest* /*request*/) {
  return new TextWriter(links_.served().text);
}

grpc::ServerWriteReactor<proto::KvBlock>* WorkerService::Prefill(grpc::CallbackServerContext* /*context*/,
                                                                 const proto::PrefillRequest* request) {
  return PrefillCall::answer(links_, *request);
}

grpc::ServerUnaryReactor* WorkerService::Drain(grpc::CallbackServerContext* context,
                                               const proto::DrainRequest* /*request*/,
                                               proto::DrainReply* reply) {
  links_.drain();
  if (links_.options().on_drain) links_.options().on_drain();
  reply->set_num_streams(links_.stats().num_streams);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace kvasir::remote
