#include "upstream/call.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/json.h"
#include "net/sse_reader.h"
#include "obs/log.h"

namespace kvasir::upstream {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Status;

namespace {

constexpr std::size_t kMaxEventBytes = 1 << 20;
constexpr std::size_t kMaxAnswerBytes = 256 << 20;
constexpr std::size_t kMaxComplaintBytes = 16 * 1024;  // read of an error's body
constexpr std::size_t kMaxUntaken = 256;               // chunks
constexpr double kLingerS = 1;                         // wait for the connection's end after the last event
constexpr int kMaxTries = 3;

base::TimePoint now() {
  return base::RealClock().now();
}

bool is_event_stream(const net::HttpReply& reply) {
  return reply.header("content-type").starts_with("text/event-stream");
}

}  // namespace

Call::Call(std::shared_ptr<Pool> pool, Slot slot, Ask ask, RunningCalls& running,
           const asio::any_io_executor& executor)
    : pool_(std::move(pool)),
      ask_(std::move(ask)),
      running_(running),
      executor_(executor),
      watch_(executor),
      room_(executor),
      slot_(std::move(slot)),
      finished_(static_cast<std::size_t>(ask_.num_choices)) {}

Call::~Call() {
  running_.remove(this);
}

std::shared_ptr<Call> Call::start(std::shared_ptr<Pool> pool, Slot slot, Ask ask, RunningCalls& running,
                                  const asio::any_io_executor& executor) {
  std::shared_ptr<Call> call(new Call(std::move(pool), std::move(slot), std::move(ask), running, executor));
  call->tried_.push_back(call->slot_.member()->label());
  running.add(call);
  asio::co_spawn(executor, drive(call), asio::detached);
  return call;
}

std::vector<Chunk> Call::take() {
  std::vector<Chunk> taken(std::make_move_iterator(chunks_.begin()), std::make_move_iterator(chunks_.end()));
  if (chunks_.size() >= kMaxUntaken) room_.cancel();
  chunks_.clear();
  return taken;
}

void Call::cancel() {
  told_ = {};
  end_with(base::error(ErrorCode::cancelled, "cancelled"));
}

void Call::end_with(Error why) {
  if (over_) return;
  ended_ = true;
  if (connection_ != nullptr) connection_->abort();
  room_.cancel();
  finish(std::move(why));
}

void Call::finish(std::optional<Error> failure) {
  if (std::exchange(over_, true)) return;
  failure_ = std::move(failure);
  tell();
}

void Call::tell() {
  if (told_) told_();
}

asio::awaitable<void> Call::drive(std::shared_ptr<Call> self) {
  Call& call = *self;
  for (;;) {
    const std::shared_ptr<Member> member = call.slot_.member();
    std::optional<Failure> failed;
    try {
      failed = co_await call.try_at(member);
    } catch (const std::exception& e) {
      call.watch_.cancel();
      call.connection_ = nullptr;
      failed = failure_of_answer(member->label(), e.what());
    }
    if (call.ended_) {  // by cancel or end_with, so the member is not to blame
      call.slot_.end();
      break;
    }
    if (!failed) {
      call.slot_.note_good();
      break;
    }
    failed->detail = member->without_key(std::move(failed->detail));
    failed->error.message = member->without_key(std::move(failed->error.message));
    failed->error.reason = member->without_key(std::move(failed->error.reason));  // also the upstream's text
    call.slot_.note(*failed);
    obs::Log::warn(
        "upstream_request_failed",
        {{"upstream", member->label()}, {"model", call.pool_->name()}, {"reason", failed->detail}});
    std::optional<Slot> next;
    if (failed->may_retry && !call.said_something_ && call.num_tries() < kMaxTries)
      next = call.pool_->pick_again(call.ask_.affinity, call.tried_);
    if (!next) {
      call.finish(std::move(failed->error));
      break;
    }
    call.tried_.push_back(next->member()->label());
    call.slot_ = std::move(*next);
  }
  call.finish(std::nullopt);
}

std::string Call::body_for(const Member& member) const {
  std::string body = "{\"model\":" + base::json_text(base::json::value(member.config().model));
  if (ask_.max_tokens >= 0)
    body += fmt::format(",\"{}\":{}", member.config().max_tokens_field, ask_.max_tokens);
  return body + "," + ask_.fields + "}";
}

asio::awaitable<std::optional<Failure>> Call::try_at(const std::shared_ptr<Member>& member) {
  std::unique_ptr<net::ClientConnection> connection = member->take_connection(executor_);
  if (!connection)
    co_return failure_of_exchange(member->label(),
                                  base::error(ErrorCode::unavailable, "its address is not known"));
  connection_ = connection.get();
  read_timeout_s_ = member->config().read_timeout_s;
  done_ = silent_ = false;
  wrong_answer_.reset();
  watched_until_ = base::TimePoint::max();
  expect_within(member->config().first_token_timeout_s);
  std::optional<Failure> failed = co_await exchange(*member, *connection);
  watch_.cancel();
  connection_ = nullptr;
  member->keep(std::move(connection), executor_);
  co_return failed;
}

asio::awaitable<std::optional<Failure>> Call::exchange(const Member& member,
                                                       net::ClientConnection& connection) {
  const std::string& label = member.label();
  net::HttpCall call{"POST", member.url_of(ask_.path), member.headers(), body_for(member)};
  call.headers.emplace_back("Content-Type", "application/json");
  call.headers.emplace_back("Accept", "text/event-stream");
  call.headers.insert(call.headers.end(), ask_.headers.begin(), ask_.headers.end());
  net::SseReader events(kMaxEventBytes, [this](std::string_view data) { return take_event(data); });
  int status = 0;
  std::string complaint;
  std::string retry_after;
  net::ReplySink sink;
  sink.head = [&](const net::HttpReply& reply) -> Status {
    status = reply.status;
    retry_after = reply.header("retry-after");
    if (status != 200) return base::ok();
    if (!is_event_stream(reply))
      return base::error(ErrorCode::corrupt, "an answer of the type '{}' in place of a stream",
                         reply.header("content-type"));
    accepted_ = true;
    tell();
    return base::ok();
  };
  sink.body = [&](std::string_view bytes) -> Status {
    if (status == 200) return events.feed(bytes);
    complaint += bytes.substr(0, kMaxComplaintBytes - complaint.size());
    if (complaint.size() < kMaxComplaintBytes) return base::ok();
    return base::error(ErrorCode::too_large, "a long error");
  };
  sink.room = [this] { return await_room(); };
  base::Result<net::HttpReply> reply = co_await connection.exchange(call, sink);
  if (ended_) co_return std::nullopt;
  if (reply.ok()) status = reply->status;  // also the status of a redirect
  if (status != 0 && status != 200) co_return failure_of_status(label, status, complaint, retry_after);
  if (done_ || (reply.ok() && answer_is_whole())) co_return std::nullopt;
  if (wrong_answer_) co_return std::move(wrong_answer_);
  if (silent_) co_return failure_of_silence(label, patience_s_);
  if (reply.ok()) co_return failure_of_exchange(label, base::error(ErrorCode::io, "the stream ended early"));
  const ErrorCode code = reply.error().code;
  if (code == ErrorCode::corrupt || code == ErrorCode::too_large)
    co_return failure_of_answer(label, reply.error().message);
  co_return failure_of_exchange(label, reply.error());
}

Status Call::take_event(std::string_view data) {
  if (done_) return base::ok();
  if (data == "[DONE]") {
    done_ = true;
    expect_within(kLingerS);
    slot_.note_good();  // before the client sees the end, so that its next request finds a free place
    finish(std::nullopt);
    return base::ok();
  }
  num_bytes_ += data.size();
  if (num_bytes_ > kMaxAnswerBytes)
    return base::error(ErrorCode::too_large, "an answer of more than {} bytes", kMaxAnswerBytes);
  base::Result<Chunk> chunk = read_chunk(data, ask_.num_choices);
  if (!chunk.ok()) {
    const bool is_its_error = chunk.error().code == ErrorCode::unavailable;
    wrong_answer_ = failure_of_answer(tried_.back(), chunk.error().message);
    if (is_its_error)
      wrong_answer_->error.message =
          fmt::format("the upstream '{}' failed: {}", tried_.back(), chunk.error().message);
    return chunk.error();
  }
  for (const SaidChoice& choice : chunk->choices)
    if (!choice.finish.empty()) finished_[static_cast<std::size_t>(choice.index)] = true;
  said_something_ = said_something_ || !chunk->choices.empty();
  // Before the first token, pings and roles do not extend the time to the first token.
  if (said_something_) expect_within(read_timeout_s_);
  if (chunk->empty()) return base::ok();
  chunks_.push_back(std::move(*chunk));
  tell();
  return base::ok();
}

bool Call::answer_is_whole() const {
  return std::ranges::all_of(finished_, [](bool finished) { return finished; });
}

asio::awaitable<void> Call::await_room() {
  while (chunks_.size() >= kMaxUntaken && !over_) {
    deadline_ = now() + std::chrono::hours(24);  // the reader is slow, not the member
    room_.expires_at(std::chrono::steady_clock::time_point::max());
    boost::system::error_code ignored;
    co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    expect_within(read_timeout_s_);
  }
}

void Call::expect_within(double seconds) {
  patience_s_ = seconds;
  deadline_ = now() + std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
  if (deadline_ < watched_until_) watch();
}

void Call::watch() {
  watched_until_ = deadline_;
  watch_.expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(deadline_));
  watch_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self || self->connection_ == nullptr) return;
    if (now() < self->deadline_) return self->watch();
    self->silent_ = !self->done_;
    self->connection_->abort();
  });
}

}  // namespace kvasir::upstream
