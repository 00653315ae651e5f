#include "api/answer/write/answer_writer.h"

#include <utility>

#include "api/answer/question/receipt.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using Ending = AnswerKeeper::Ending;

AnswerWriter::AnswerWriter(Outlet& out, Parts parts)
    : out_(out),
      shape_(std::move(parts.shape)),
      extra_(std::move(parts.extra)),
      keeper_(std::move(parts.keeper)),
      streams_(parts.streams),
      num_sampled_(parts.job.num_sampled),
      num_kept_(parts.job.num_kept),
      with_logprobs_(parts.job.with_logprobs),
      receipted_(parts.receipted),
      whole_(static_cast<int>(parts.job.sequences.size())) {}

asio::awaitable<Status> AnswerWriter::begin(const Job& job) {
  if (!keeper_) co_return base::ok();
  const obs::SpanScope span(*out_.exchange().trace->spans, "store");
  co_return co_await keeper_->begin(job);
}

asio::awaitable<void> AnswerWriter::refuse(Error error) {
  if (keeper_) keeper_->note_failure(error);
  (void)co_await keep_end(Ending::failed, {});
  co_await out_.fail(std::move(error));
}

asio::awaitable<Status> AnswerWriter::open(DeltaStream& stream) {
  stream_ = &stream;
  if (!streams_) co_return base::ok();
  Status started = co_await out_.start();
  if (!started.ok()) {
    stream.cancel();
    co_return started;
  }
  events_ = shape_->opening(stream.num_choices(), stream.usage());
  if (events_.empty()) co_return base::ok();
  Status written = co_await out_.write(std::exchange(events_, {}));
  if (!written.ok()) stream.cancel();
  co_return written;
}

asio::awaitable<Status> AnswerWriter::take(std::vector<Delta> deltas) {
  if (keeper_) co_await keeper_->take(deltas);
  if (!streams_) co_return co_await whole_.take(std::move(deltas));
  for (const Delta& delta : deltas) events_ += shape_->chunks(delta);
  // The last events go out together with the closing ones, in one write.
  if (stream_->over()) co_return base::ok();
  if (out_.abandoned()) co_return base::error(ErrorCode::cancelled, "nobody came back for the stream");
  if (events_.empty()) co_return co_await out_.ping();
  co_return co_await out_.write(std::exchange(events_, {}));
}

asio::awaitable<Status> AnswerWriter::keep_end(Ending ending, const wire::Usage& usage) {
  if (!keeper_) co_return base::ok();
  const obs::SpanScope span(*out_.exchange().trace->spans, "store");
  Result<json::object> fields = co_await keeper_->end(ending, usage);
  if (!fields.ok()) co_return std::move(fields).error();
  for (auto& [name, value] : *fields) (*extra_)[name] = std::move(value);
  co_return base::ok();
}

asio::awaitable<void> AnswerWriter::wait_for(const Commit& commit) {
  obs::SpanScope span(*out_.exchange().trace->spans, "store");
  span.note("kvasir.stores", "usage");
  co_await commit.wait();
}

asio::awaitable<void> AnswerWriter::close(DeltaStream& stream, Status ended, const Commit& commit) {
  const wire::Usage usage = stream.usage();
  if (receipted_) (*extra_)["kvasir"] = receipt_object(usage, *receipted_);
  if (stream.cancelled()) {
    (void)co_await keep_end(Ending::left, usage);
    co_return;
  }
  AnswerShape* const opened = streams_ ? shape_.get() : nullptr;
  if (!ended.ok()) {
    const bool left = ended.error().code == ErrorCode::cancelled;
    if (keeper_ && !left) keeper_->note_failure(ended.error());
    (void)co_await keep_end(left ? Ending::left : Ending::failed, usage);
    co_await wait_for(commit);
    co_return co_await out_.fail(std::move(ended).error(), opened);
  }
  Status kept = co_await keep_end(Ending::finished, usage);
  co_await wait_for(commit);
  if (!kept.ok()) co_return co_await out_.fail(std::move(kept).error(), opened);
  if (!streams_) co_return co_await send_whole(usage);
  events_ += shape_->closing(usage);
  co_await out_.finish(std::move(events_));
}

asio::awaitable<void> AnswerWriter::send_whole(const wire::Usage& usage) {
  const std::vector<Delta> choices = whole_.best_of(num_sampled_, num_kept_, with_logprobs_);
  net::HttpResponse response = net::HttpResponse::json(200, shape_->whole(choices, usage));
  response.headers = out_.headers();
  co_await reply(out_.exchange(), std::move(response));
}

}  // namespace kvasir::api
