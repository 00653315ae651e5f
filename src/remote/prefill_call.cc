#include "remote/prefill_call.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "kv/block.h"
#include "remote/codec.h"

namespace kvasir::remote {

namespace asio = boost::asio;
using base::ErrorCode;

namespace {

grpc::Status status_of(const base::Error& error) {
  switch (error.code) {
    case ErrorCode::unavailable:
      return {grpc::StatusCode::UNAVAILABLE, error.message};
    case ErrorCode::exhausted:
    case ErrorCode::too_large:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, error.message};
    case ErrorCode::internal:
      return {grpc::StatusCode::INTERNAL, error.message};
    default:
      return {grpc::StatusCode::FAILED_PRECONDITION, error.message};
  }
}

}  // namespace

// Passes blocks from the engine's thread to the links' thread.
class PrefillCall::Outlet final : public kv::BlockOutlet {
 public:
  Outlet(std::weak_ptr<PrefillCall> call, asio::any_io_executor links)
      : call_(std::move(call)), links_(std::move(links)) {}
  void put(std::size_t index, kv::BlockImage image) override {
    asio::post(links_, [call = call_, block = Block{index, std::move(image)}]() mutable {
      if (const auto self = call.lock()) self->put(std::move(block));
    });
  }

 private:
  const std::weak_ptr<PrefillCall> call_;
  const asio::any_io_executor links_;
};

grpc::ServerWriteReactor<proto::KvBlock>* PrefillCall::answer(GatewayLinks& links,
                                                              const proto::PrefillRequest& request) {
  auto call = std::make_shared<PrefillCall>(links);
  PrefillCall* const reactor = call.get();
  reactor->self_ = call;
  links.call_began();
  asio::post(links.io(), [call, request] { call->begin(request); });
  return reactor;
}

void PrefillCall::OnWriteDone(bool ok) {
  asio::post(links_.io(), [self = self_, ok] {
    if (ok) self->written();  // else OnCancel follows
  });
}

void PrefillCall::OnCancel() {
  asio::post(links_.io(), [self = self_] { self->finish(grpc::Status::CANCELLED); });
}

void PrefillCall::OnDone() {
  asio::post(links_.io(), [self = self_] {
    self->self_.reset();
    self->links_.call_ended();
  });
}

void PrefillCall::begin(const proto::PrefillRequest& message) {
  if (finished_) return;
  began_ = std::chrono::steady_clock::now();
  links_.count_streams(1);
  base::Result<wire::GenerateRequest> request = check(message);
  if (!request.ok()) return finish(status_of(request.error()));
  num_left_ = request->prompt.size() / kv::kBlockTokens - static_cast<std::size_t>(request->first_block);
  memory_.emplace(links_.traffic().memory);
  if (!memory_->cover(num_left_ * links_.served().card.kv.num_bytes))
    return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory for the KV of so long a prompt"});
  request->outlet = std::make_shared<Outlet>(weak_from_this(), links_.io().get_executor());
  links_.hurry();
  auto reader = links_.served().worker->generate(std::move(*request), links_.io().get_executor());
  if (!reader.ok()) return finish(status_of(reader.error()));
  (*reader)->on_event([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->heed_reader();
  });
  reader_.emplace(std::move(*reader));
}

base::Result<wire::GenerateRequest> PrefillCall::check(const proto::PrefillRequest& request) const {
  const wire::WorkerCard& card = links_.served().card;
  if (links_.draining()) return leaving();
  if (request.fingerprint() != card.fingerprint)
    return base::error(ErrorCode::conflict, "this worker has other weights or another program: {}",
                       card.fingerprint);
  if (card.kv.name.empty() || request.kv_form() != card.kv.name)
    return base::error(ErrorCode::conflict, "this worker's KV has another form: '{}'", card.kv.name);
  return decode(request, links_.served().text.vocab_size);
}

void PrefillCall::put(Block block) {
  if (finished_) return;
  blocks_.push_back(std::move(block));
  write_next(Since::computed);
}

// Watches for errors only: the token that follows the prompt is not used.
void PrefillCall::heed_reader() {
  if (finished_) return;
  std::optional<wire::TokenEvent> event = (*reader_)->take();
  if (event && event->error) finish(status_of(*event->error));
}

void PrefillCall::written() {
  writing_ = false;
  if (--num_left_ > 0) return write_next(Since::written);
  KvTraffic::Direction& out = links_.traffic().out;
  ++out.num_transfers;
  out.seconds += base::seconds(std::chrono::steady_clock::now() - began_);
  finish(grpc::Status::OK);
}

void PrefillCall::write_next(Since since) {
  if (finished_ || writing_ || blocks_.empty()) return;
  Block block = std::move(blocks_.front());
  blocks_.pop_front();
  out_.set_index(static_cast<std::int32_t>(block.index));
  out_.set_checksum(block.image.checksum);
  out_.set_follows(since == Since::written);
  links_.traffic().out.num_bytes += block.image.bytes.size();
  *out_.mutable_data() = std::move(block.image.bytes);
  writing_ = true;
  StartWrite(&out_);
}

void PrefillCall::finish(const grpc::Status& status) {
  if (std::exchange(finished_, true)) return;
  if (began_.time_since_epoch().count() > 0) links_.count_streams(-1);
  reader_.reset();
  blocks_.clear();
  memory_.reset();
  Finish(status);
}

}  // namespace kvasir::remote
