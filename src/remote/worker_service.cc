#include "remote/worker_service.h"

#include <stop_token>
#include <utility>
#include <vector>

#include "remote/codec.h"
#include "remote/gateway_link.h"
#include "remote/prefill_call.h"

namespace kvasir::remote {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Sends the text's head, then its files in pieces. Deletes itself when the call has ended.
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
  const std::vector<TextFile>& files_;  // owned by the server, which outlives the call
  proto::TextPiece piece_;
  std::size_t file_ = 0;
  std::size_t at_ = 0;  // next byte of the file
};

// The answer to a request for vectors. Deletes itself when the call has ended.
class VectorsAnswer final : public grpc::ServerUnaryReactor {
 public:
  VectorsAnswer(GatewayLinks& links, const proto::EmbedRequest& asked, proto::EmbedReply& reply)
      : links_(links), reply_(reply) {
    links_.count_streams(1);
    if (base::Status status = ask(asked); !status.ok()) answer(std::move(status).error());
  }
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  base::Status ask(const proto::EmbedRequest& asked) {
    const WorkerServer::Served& served = links_.served();
    if (!served.embedder)
      return base::error(base::ErrorCode::unsupported, "this worker generates text and makes no vectors");
    if (links_.draining()) return leaving();
    TRY(wire::EmbedRequest request, decode(asked, served.text.vocab_size, served.card.context_length));
    request.stop = stop_.get_token();
    return served.embedder->embed(
        std::move(request), [this](base::Result<std::vector<float>> vectors) { answer(std::move(vectors)); });
  }
  // `links_` must not be touched once gRPC has the answer.
  void answer(base::Result<std::vector<float>> vectors) {
    encode(vectors, reply_);
    links_.count_streams(-1);
    Finish(grpc::Status::OK);
  }

  GatewayLinks& links_;
  proto::EmbedReply& reply_;
  std::stop_source stop_;
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

grpc::ServerUnaryReactor* WorkerService::Embed(grpc::CallbackServerContext* /*context*/,
                                               const proto::EmbedRequest* request, proto::EmbedReply* reply) {
  return new VectorsAnswer(links_, *request, *reply);
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
