#include "remote/worker_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "obs/log.h"
#include "remote/codec.h"
#include "remote/grpc_peer.h"
#include "remote/protocol.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A worker that has sent nonsense is connected again only after the longest delay.
constexpr int kAttemptsAfterBreach = 16;
constexpr std::size_t kMostRequestBytes = kMostMessageBytes / 4;

Error lost_worker(const std::string& id, std::string_view why) {
  return {ErrorCode::unavailable,
          fmt::format("the worker '{}' is not there: {}", id, why),
          {},
          std::string(wire::kWorkerLost),
          1};
}

}  // namespace

// One connection's call. It deletes itself when it has ended, and the owner waits for that: if a gRPC thread
// freed the last gRPC object, gRPC would shut down while the process exits.
class WorkerConnection::Call final : public grpc::ClientBidiReactor<proto::ToWorker, proto::ToGateway> {
 public:
  explicit Call(WorkerConnection& owner) : owner_(owner) {}

  void start(proto::ToWorker hello) {
    out_ = std::move(hello);
    owner_.stub().async()->Connect(&context_, this);
    StartRead(&in_);
    StartWrite(&out_);
    StartCall();
  }
  // Not called while another message is on its way.
  void write(proto::ToWorker&& message) {
    out_ = std::move(message);
    StartWrite(&out_);
  }
  void cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    if (owner_.take(in_))
      StartRead(&in_);
    else
      cancel();
  }
  void OnWriteDone(bool ok) override {
    if (ok) owner_.written();
  }
  void OnDone(const grpc::Status& status) override {
    WorkerConnection& owner = owner_;
    owner.ended(status);
    delete this;
    owner.released();
  }

 private:
  WorkerConnection& owner_;  // lives until `released` was called
  grpc::ClientContext context_;
  proto::ToGateway in_;
  proto::ToWorker out_;
};

// Reports to the worker what a stream's reader takes, and when it leaves.
class WorkerConnection::Feedback final : public seam::TokenStream::Feedback {
 public:
  Feedback(std::weak_ptr<WorkerConnection> owner, std::uint64_t stream, int credit_every)
      : owner_(std::move(owner)), stream_(stream), credit_every_(credit_every) {}

  void on_taken(int num_tokens) override {
    num_untold_ += num_tokens;
    if (num_untold_ < credit_every_) return;
    if (const auto owner = owner_.lock()) owner->add_credit(stream_, std::exchange(num_untold_, 0));
  }
  void on_cancelled() override {
    if (const auto owner = owner_.lock()) owner->abort(stream_);
  }

 private:
  const std::weak_ptr<WorkerConnection> owner_;
  const std::uint64_t stream_;
  const int credit_every_;
  int num_untold_ = 0;  // touched by the stream's reader
};

WorkerConnection::WorkerConnection(RemoteWorker::Options options, asio::any_io_executor timers,
                                   RemoteWorker::OnStanding on_standing)
    : options_(std::move(options)),
      on_standing_(std::move(on_standing)),
      channel_(open_channel({.address = options_.address,
                             .peer = options_.peer,
                             .ping_every = options_.ping_every,
                             .ping_timeout = options_.ping_timeout,
                             .first_retry = options_.first_retry,
                             .last_retry = options_.last_retry})),
      stub_(proto::Worker::NewStub(channel_)),
      retry_(std::move(timers)),
      fingerprint_(options_.fingerprint),
      text_digest_(options_.text_digest) {
  standing_.reason = "it has not been reached yet";
}

void WorkerConnection::connect() {
  proto::ToWorker message;
  proto::Hello& hello = *message.mutable_hello();
  set_protocols(hello);
  hello.set_gateway(options_.gateway);
  hello.set_window_tokens(options_.window_tokens);
  const std::lock_guard lock(mutex_);
  if (stopping_ || has_call_) return;
  slots_ = {};
  outbox_ = {};
  asked_activity_ = false;
  writing_ = true;  // the hello
  call_ = new Call(*this);
  has_call_ = true;
  call_->start(std::move(message));
}

void WorkerConnection::stop() {
  Lock lock(mutex_);
  stopping_ = true;
  retry_.reset();
  if (call_ != nullptr) call_->cancel();
  call_freed_.wait(lock, [this] { return !has_call_; });
}

base::Status WorkerConnection::admits(const wire::GenerateRequest& request, const Lock& /*lock*/) const {
  if (standing_.link != Link::ready) return lost_worker(options_.id, standing_.reason);
  if (standing_.draining) {
    Error draining = lost_worker(options_.id, "it is being drained");
    draining.reason = wire::kDraining;
    return draining;
  }
  if (view_.failed()) return lost_worker(options_.id, "its engine has failed");
  TRY_OK(sched::check_fits({.num_blocks = standing_.card->num_blocks}, request));
  if (max_queue_ > 0 && view_.num_waiting() >= max_queue_)
    return Error{ErrorCode::exhausted,
                 fmt::format("the worker '{}' is full: {} of {} places are taken; try again later",
                             options_.id, view_.num_waiting(), max_queue_),
                 {},
                 "rate_limit_exceeded",
                 1};
  return base::ok();
}

Result<seam::TokenReader> WorkerConnection::generate(wire::GenerateRequest request,
                                                     asio::any_io_executor reader) {
  std::shared_ptr<const grammar::GrammarSource> source;
  if (request.grammar) {
    source = request.grammar->source();
    if (!source)
      return base::error(ErrorCode::internal, "a grammar without a source cannot be sent to a worker");
  }
  proto::Generate message;
  encode(request, message);
  if (message.ByteSizeLong() > kMostRequestBytes)
    return base::error(ErrorCode::too_large, "a request of {} bytes is more than a worker takes",
                       message.ByteSizeLong());
  const Lock lock(mutex_);
  TRY_OK(admits(request, lock));
  const std::uint64_t number = ++last_stream_;
  message.set_stream(number);
  if (source) {
    const GrammarSlots::Place place = slots_.place(source);
    message.set_grammar_slot(place.slot);
    if (place.is_new) encode(*source, *message.mutable_grammar());
  }
  auto feedback =
      std::make_shared<Feedback>(weak_from_this(), number, std::max(1, options_.window_tokens / 4));
  auto stream = std::make_shared<seam::TokenStream>(std::move(reader), std::move(feedback));
  streams_.emplace(number, OpenStream{stream, {}});
  view_.sent(number, request);
  outbox_.add(std::move(message));
  flush(lock);
  return seam::TokenReader(std::move(stream));
}

void WorkerConnection::add_credit(std::uint64_t stream, int tokens) {
  const Lock lock(mutex_);
  if (!streams_.contains(stream)) return;
  outbox_.give_credit(stream, tokens);
  flush(lock);
}

void WorkerConnection::abort(std::uint64_t stream) {
  const Lock lock(mutex_);
  if (streams_.erase(stream) == 0) return;
  view_.ended(stream);
  outbox_.abort(stream);
  flush(lock);
}

void WorkerConnection::flush(const Lock& /*lock*/) {
  if (call_ == nullptr || writing_ || standing_.link != Link::ready || outbox_.empty()) return;
  writing_ = true;
  call_->write(outbox_.next());
}

void WorkerConnection::written() {
  const Lock lock(mutex_);
  writing_ = false;
  flush(lock);
}

bool WorkerConnection::take(const proto::ToGateway& message) {
  Lock lock(mutex_);
  base::Status status = base::ok();
  if (message.has_card()) status = take_card(message.card(), lock);
  if (status.ok() && message.events_size() > 0) status = take_events(message, lock);
  if (status.ok() && message.has_report()) status = take_report(message.report(), lock);
  if (status.ok() && message.has_activity()) {
    view_.take_activity(message.activity());
    asked_activity_ = false;
  }
  if (status.ok() && message.blocks_size() > 0) status = take_blocks(message, lock);
  if (status.ok()) return true;
  obs::Log::warn("worker_refused", {{"worker", options_.id}, {"reason", status.error().message}});
  standing_.reason = status.error().message;
  if (standing_.link == Link::ready) {
    standing_.link = Link::connecting;
    breach_ = standing_.reason;
    num_attempts_ = kAttemptsAfterBreach;
  }
  return false;
}

base::Status WorkerConnection::check_card(const proto::Card& message, const wire::WorkerCard& card,
                                          const Lock& /*lock*/) const {
  TRY_OK(check_common(fmt::format("the worker at {}", options_.address), protocols_of(message)));
  const bool computes = card.num_blocks > 0 || card.dimensions > 0;
  if (message.vocab_size() <= 0 || !computes || card.context_length <= 0)
    return base::error(ErrorCode::corrupt, "'{}' says nothing of its model", options_.address);
  if (!fingerprint_.empty() && card.fingerprint != fingerprint_)
    return base::error(ErrorCode::conflict, "'{}' has other weights or another program: {}, not {}",
                       options_.address, card.fingerprint, fingerprint_);
  if (!text_digest_.empty() && card.text_digest != text_digest_)
    return base::error(ErrorCode::conflict, "'{}' has another tokenizer or template", options_.address);
  return base::ok();
}

base::Status WorkerConnection::take_card(const proto::Card& message, Lock& lock) {
  wire::WorkerCard card = decode(message);
  if (base::Status checked = check_card(message, card, lock); !checked.ok()) {
    standing_.link = Link::refused;
    return checked;
  }
  fingerprint_ = card.fingerprint;
  text_digest_ = card.text_digest;
  vocab_size_ = message.vocab_size();
  max_queue_ = message.max_queue();
  card.address = options_.address;
  if (!options_.id.empty()) card.id = options_.id;
  view_ = WorkerView(card.num_blocks);
  num_attempts_ = 0;
  standing_ = {.link = Link::ready, .card = std::move(card)};
  if (sink_) outbox_.watch_blocks(true);
  obs::Log::debug("worker_connected", {{"worker", options_.id}, {"address", options_.address}});
  lock.unlock();
  tell();
  lock.lock();
  flush(lock);
  return base::ok();
}

base::Status WorkerConnection::take_events(const proto::ToGateway& message, Lock& lock) {
  std::vector<seam::TokenStream::Delivery> deliveries;
  deliveries.reserve(static_cast<std::size_t>(message.events_size()));
  base::Status status = base::ok();
  for (const proto::Event& one : message.events()) {
    const auto found = streams_.find(one.stream());
    if (found == streams_.end()) continue;  // the stream was aborted meanwhile
    Result<wire::TokenEvent> event = decode(one, found->second.usage, vocab_size_);
    if (!event.ok()) {
      status = std::move(event).error();
      break;
    }
    view_.to_this_clock(*event);
    const bool last = event->last();
    deliveries.push_back({found->second.stream, std::move(*event)});
    if (last) {
      view_.ended(one.stream());
      streams_.erase(found);
    }
  }
  // Readers run on other threads, and may call back with credit at once.
  lock.unlock();
  seam::TokenStream::send(std::move(deliveries));
  lock.lock();
  return status;
}

base::Status WorkerConnection::take_report(const proto::Report& message, Lock& lock) {
  TRY_OK(view_.take_report(message));
  if (std::exchange(standing_.draining, message.draining()) == message.draining()) return base::ok();
  lock.unlock();
  tell();
  lock.lock();
  return base::ok();
}

base::Status WorkerConnection::take_blocks(const proto::ToGateway& message, Lock& lock) {
  const std::shared_ptr<seam::BlockSink> sink = sink_;
  if (!sink) return base::ok();
  lock.unlock();
  base::Status status = base::ok();
  for (const proto::Blocks& one : message.blocks()) {
    Result<wire::BlockChanges> changes = decode(one);
    if (!changes.ok()) {
      status = std::move(changes).error();
      break;
    }
    sink->on_blocks(std::move(*changes));
  }
  lock.lock();
  return status;
}

void WorkerConnection::ended(const grpc::Status& status) {
  std::vector<seam::TokenStream::Delivery> deliveries;
  {
    const Lock lock(mutex_);
    std::string why = status.ok() ? "it has ended the connection" : reason_of(status);
    if (!breach_.empty()) why = std::exchange(breach_, {});
    if (standing_.link == Link::ready) {
      obs::Log::warn("worker_lost",
                     {{"worker", options_.id}, {"address", options_.address}, {"reason", why}});
      standing_.link = Link::connecting;
    }
    if (standing_.link == Link::connecting) standing_.reason = why;
    standing_.draining = false;
    for (auto& [number, open] : streams_) {
      wire::TokenEvent event;
      event.error = lost_worker(options_.id, why);
      event.usage = open.usage;
      deliveries.push_back({std::move(open.stream), std::move(event)});
    }
    streams_.clear();
    view_.forget_sent();
  }
  seam::TokenStream::send(std::move(deliveries));
  tell();
  const Lock lock(mutex_);
  call_ = nullptr;
}

void WorkerConnection::released() {
  const Lock lock(mutex_);
  has_call_ = false;
  retry_later(lock);
  call_freed_.notify_all();
}

std::string WorkerConnection::reason_of(const grpc::Status& status) const {
  return remote::reason_of(status, options_.peer);
}

// The delay is random, so that gateways that lose a worker at the same time reconnect at different times.
void WorkerConnection::retry_later(const Lock& /*lock*/) {
  if (stopping_) return;
  thread_local std::minstd_rand random{std::random_device{}()};
  const double whole_s =
      std::min(base::seconds(options_.first_retry) * std::exp2(std::min(num_attempts_++, 30)),
               base::seconds(options_.last_retry));
  const double delay_s = whole_s * std::uniform_real_distribution(0.5, 1.0)(random);
  retry_->expires_after(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(delay_s)));
  retry_->async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    if (const auto self = weak.lock(); self && !error) self->connect();
  });
}

void WorkerConnection::tell() {
  if (!on_standing_) return;
  const std::lock_guard telling(telling_);
  on_standing_(standing());
}

RemoteWorker::Standing WorkerConnection::standing() const {
  const Lock lock(mutex_);
  return standing_;
}

seam::Prospect WorkerConnection::prospect() const {
  const Lock lock(mutex_);
  return view_.prospect();
}

wire::WorkerReport WorkerConnection::report() const {
  const Lock lock(mutex_);
  wire::WorkerReport report = view_.report();
  if (standing_.link != Link::ready) report.progressing = false;
  return report;
}

wire::Activity WorkerConnection::activity(std::uint64_t after_step) {
  const Lock lock(mutex_);
  if (standing_.link == Link::ready && !std::exchange(asked_activity_, true)) {
    outbox_.ask_activity(std::max(after_step, view_.last_step()));
    flush(lock);
  }
  return view_.activity(after_step);
}

void WorkerConnection::watch_blocks(std::shared_ptr<seam::BlockSink> sink) {
  const Lock lock(mutex_);
  sink_ = std::move(sink);
  if (standing_.link != Link::ready) return;
  outbox_.watch_blocks(sink_ != nullptr);
  flush(lock);
}

}  // namespace kvasir::remote
