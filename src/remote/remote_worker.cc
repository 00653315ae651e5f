#include "remote/remote_worker.h"

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/block.h"
#include "obs/log.h"
#include "remote/codec.h"
#include "remote/grammar_slots.h"
#include "remote/grpc_peer.h"
#include "sched/scheduler.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A message is begun anew once it has so many bytes of requests.
constexpr std::size_t kRequestBytes = std::size_t{4} << 20;
constexpr std::size_t kMostRequestBytes = kMostMessageBytes / 4;
// Of the steps that the worker told of.
constexpr std::size_t kMostSteps = 2048;
constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

double steady_now_s() {
  return base::seconds(std::chrono::steady_clock::now().time_since_epoch());
}

Error lost_worker(const std::string& id, std::string_view why) {
  return {ErrorCode::unavailable,
          fmt::format("the worker '{}' is not there: {}", id, why),
          {},
          std::string(wire::kWorkerLost),
          1};
}

sched::WaitingLine line_of(const wire::GenerateRequest& request) {
  return {.tenant = sched::tenant_hash(request.origin.tenant),
          .priority = request.priority,
          .weight = static_cast<double>(request.origin.weight),
          .num_tokens = static_cast<double>(request.prompt.size()),
          .num_sequences = 1};
}

void shift(wire::TokenEvent& event, double seconds) {
  for (wire::PrefillChunk& chunk : event.prefill) {
    chunk.began_s += seconds;
    chunk.ended_s += seconds;
  }
}

void shift(wire::Activity& activity, double seconds) {
  activity.now_s += seconds;
  for (wire::StepRecord& step : activity.steps) step.started_s += seconds;
}

}  // namespace

// Everything but the handle: it outlives that while the connection ends.
class RemoteWorker::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Options options, asio::any_io_executor timers, OnStanding on_standing)
      : options_(std::move(options)),
        on_standing_(std::move(on_standing)),
        retry_(std::move(timers)),
        fingerprint_(options_.fingerprint),
        text_digest_(options_.text_digest),
        channel_(connect_channel(options_)),
        stub_(proto::Worker::NewStub(channel_)) {
    standing_.reason = "it has not been reached yet";
  }

  void connect();
  void stop();

  Result<seam::TokenReader> generate(wire::GenerateRequest request, asio::any_io_executor reader);
  void add_credit(std::uint64_t stream, int tokens);
  void abort(std::uint64_t stream);
  seam::Prospect prospect() const;
  wire::WorkerReport report() const;
  wire::Activity activity(std::uint64_t after_step);
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink);
  Standing standing() const;
  proto::Worker::Stub& stub() { return *stub_; }

  // Of the call's reactions. False: the peer says what makes no sense, and the call ends.
  bool take(const proto::ToGateway& message);
  void written();
  void ended(const grpc::Status& status);

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct OpenStream {
    std::shared_ptr<seam::TokenStream> stream;
    wire::Usage usage;
  };
  struct Sent {
    std::uint64_t stream;
    sched::WaitingLine line;
  };

  static std::shared_ptr<grpc::Channel> connect_channel(const Options& options);
  base::Status admits(const wire::GenerateRequest& request, const Lock& lock) const;
  void flush(const Lock& lock);
  base::Status take_card(const proto::Card& card, Lock& lock);
  base::Status take_events(const proto::ToGateway& message, Lock& lock);
  base::Status take_report(const proto::Report& message, Lock& lock);
  base::Status take_blocks(const proto::ToGateway& message, Lock& lock);
  void take_activity(const proto::Activity& message, const Lock& lock);
  void retry_later(const Lock& lock);
  void tell();

  const Options options_;
  const OnStanding on_standing_;
  std::mutex telling_;  // held while the standing is told
  mutable std::mutex mutex_;
  std::condition_variable call_ended_;
  std::optional<asio::steady_timer> retry_;  // guarded by mutex_; none once stopped
  std::string fingerprint_;                  // guarded by mutex_; what the worker must have
  std::string text_digest_;                  // likewise
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<proto::Worker::Stub> stub_;
  Call* call_ = nullptr;                                   // guarded by mutex_; deletes itself
  bool stopping_ = false;                                  // guarded by mutex_
  int num_attempts_ = 0;                                   // guarded by mutex_; since it was ready
  Standing standing_;                                      // guarded by mutex_
  int vocab_size_ = 0;                                     // guarded by mutex_
  int max_queue_ = 0;                                      // guarded by mutex_
  std::uint64_t last_stream_ = 0;                          // guarded by mutex_
  std::unordered_map<std::uint64_t, OpenStream> streams_;  // guarded by mutex_
  GrammarSlots slots_;                                     // guarded by mutex_; of this connection
  std::deque<proto::Generate> requests_;                   // guarded by mutex_; not yet written
  std::vector<std::uint64_t> aborts_;                      // guarded by mutex_; likewise
  proto::ToWorker pending_;                                // guarded by mutex_; likewise, the rest
  bool has_pending_ = false;                               // guarded by mutex_
  bool writing_ = false;                                   // guarded by mutex_
  double offset_s_ = 0;                                    // guarded by mutex_; this clock minus the worker's
  bool knows_offset_ = false;                              // guarded by mutex_
  wire::WorkerReport report_;                              // guarded by mutex_
  seam::Prospect prospect_;                                // guarded by mutex_; as of reported_s_
  double reported_s_ = 0;                                  // guarded by mutex_
  std::vector<Sent> sent_;                 // guarded by mutex_; what the report does not count
  std::shared_ptr<seam::BlockSink> sink_;  // guarded by mutex_
  std::deque<wire::StepRecord> steps_;     // guarded by mutex_
  wire::Activity activity_;                // guarded by mutex_; without steps
  bool asked_activity_ = false;            // guarded by mutex_
};

// One connection's call. It deletes itself when it has ended.
class RemoteWorker::Call final : public grpc::ClientBidiReactor<proto::ToWorker, proto::ToGateway> {
 public:
  explicit Call(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  void start(proto::ToWorker hello) {
    out_ = std::move(hello);
    core_->stub().async()->Connect(&context_, this);
    StartRead(&in_);
    StartWrite(&out_);
    StartCall();
  }
  // Not while another message is on its way.
  void write(proto::ToWorker&& message) {
    out_ = std::move(message);
    StartWrite(&out_);
  }
  void cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    if (core_->take(in_))
      StartRead(&in_);
    else
      cancel();
  }
  void OnWriteDone(bool ok) override {
    if (ok) core_->written();
  }
  void OnDone(const grpc::Status& status) override {
    core_->ended(status);
    delete this;
  }

 private:
  const std::shared_ptr<Core> core_;
  grpc::ClientContext context_;
  proto::ToGateway in_;
  proto::ToWorker out_;
};

// Tells the worker what a stream's reader does.
class RemoteWorker::Reader final : public seam::TokenStream::Feedback {
 public:
  Reader(std::weak_ptr<Core> core, std::uint64_t stream, int credit_every)
      : core_(std::move(core)), stream_(stream), credit_every_(credit_every) {}

  void on_taken(int num_tokens) override {
    num_untold_ += num_tokens;
    if (num_untold_ < credit_every_) return;
    if (const auto core = core_.lock()) core->add_credit(stream_, std::exchange(num_untold_, 0));
  }
  void on_cancelled() override {
    if (const auto core = core_.lock()) core->abort(stream_);
  }

 private:
  const std::weak_ptr<Core> core_;
  const std::uint64_t stream_;
  const int credit_every_;
  int num_untold_ = 0;  // touched by the stream's reader
};

std::shared_ptr<grpc::Channel> RemoteWorker::Core::connect_channel(const Options& options) {
  const auto ms = [](base::Duration d) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
  };
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMostMessageBytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ms(options.ping_every));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms(options.ping_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, ms(options.first_retry));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // it bounds an attempt
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(options.last_retry));
  // A connection of its own, also where two workers have one address after each other.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.address, client_credentials(options.peer), arguments);
}

void RemoteWorker::Core::connect() {
  proto::ToWorker message;
  proto::Hello& hello = *message.mutable_hello();
  hello.set_protocol(kProtocol);
  hello.set_gateway(options_.gateway);
  hello.set_window_tokens(options_.window_tokens);
  const std::lock_guard lock(mutex_);
  if (stopping_ || call_ != nullptr) return;
  slots_ = {};
  requests_.clear();
  aborts_.clear();
  pending_.Clear();
  has_pending_ = false;
  knows_offset_ = false;
  asked_activity_ = false;
  writing_ = true;  // the hello
  call_ = new Call(shared_from_this());
  call_->start(std::move(message));
}

void RemoteWorker::Core::stop() {
  Lock lock(mutex_);
  stopping_ = true;
  retry_.reset();
  if (call_ != nullptr) call_->cancel();
  call_ended_.wait(lock, [this] { return call_ == nullptr; });
}

base::Status RemoteWorker::Core::admits(const wire::GenerateRequest& request, const Lock& /*lock*/) const {
  if (standing_.link != Link::ready) return lost_worker(options_.id, standing_.reason);
  if (standing_.draining) {
    Error draining = lost_worker(options_.id, "it is being drained");
    draining.reason = wire::kDraining;
    return draining;
  }
  if (report_.failed) return lost_worker(options_.id, "its engine has failed");
  TRY_OK(sched::check_fits({.num_blocks = standing_.card->num_blocks}, request));
  const int num_waiting = report_.num_waiting + static_cast<int>(sent_.size());
  if (max_queue_ > 0 && num_waiting >= max_queue_)
    return Error{ErrorCode::exhausted,
                 fmt::format("the worker '{}' is full: {} of {} places are taken; try again later",
                             options_.id, num_waiting, max_queue_),
                 {},
                 "rate_limit_exceeded",
                 1};
  return base::ok();
}

Result<seam::TokenReader> RemoteWorker::Core::generate(wire::GenerateRequest request,
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
  auto feedback = std::make_shared<Reader>(weak_from_this(), number, std::max(1, options_.window_tokens / 4));
  auto stream = std::make_shared<seam::TokenStream>(std::move(reader), std::move(feedback));
  streams_.emplace(number, OpenStream{stream, {}});
  sent_.push_back({number, line_of(request)});
  requests_.push_back(std::move(message));
  flush(lock);
  return seam::TokenReader(std::move(stream));
}

void RemoteWorker::Core::add_credit(std::uint64_t stream, int tokens) {
  const Lock lock(mutex_);
  if (!streams_.contains(stream)) return;
  proto::Credit& credit = *pending_.add_credit();
  credit.set_stream(stream);
  credit.set_tokens(tokens);
  has_pending_ = true;
  flush(lock);
}

void RemoteWorker::Core::abort(std::uint64_t stream) {
  const Lock lock(mutex_);
  if (streams_.erase(stream) == 0) return;
  aborts_.push_back(stream);
  flush(lock);
}

// One message at a time is on its way; what comes meanwhile goes together in the next one. No abort goes
// ahead of its request.
void RemoteWorker::Core::flush(const Lock& /*lock*/) {
  if (call_ == nullptr || writing_ || standing_.link != Link::ready) return;
  if (requests_.empty() && aborts_.empty() && !has_pending_) return;
  proto::ToWorker message = std::move(pending_);
  pending_.Clear();
  has_pending_ = false;
  std::size_t bytes = 0;
  while (!requests_.empty() && bytes < kRequestBytes) {
    bytes += requests_.front().ByteSizeLong();
    *message.add_generate() = std::move(requests_.front());
    requests_.pop_front();
  }
  if (requests_.empty()) {
    message.mutable_abort()->Add(aborts_.begin(), aborts_.end());
    aborts_.clear();
  }
  writing_ = true;
  call_->write(std::move(message));
}

void RemoteWorker::Core::written() {
  const Lock lock(mutex_);
  writing_ = false;
  flush(lock);
}

bool RemoteWorker::Core::take(const proto::ToGateway& message) {
  Lock lock(mutex_);
  base::Status status = base::ok();
  if (message.has_card()) status = take_card(message.card(), lock);
  if (status.ok() && message.events_size() > 0) status = take_events(message, lock);
  if (status.ok() && message.has_report()) status = take_report(message.report(), lock);
  if (status.ok() && message.has_activity()) take_activity(message.activity(), lock);
  if (status.ok() && message.blocks_size() > 0) status = take_blocks(message, lock);
  if (status.ok()) return true;
  obs::Log::warn("worker_refused", {{"worker", options_.id}, {"reason", status.error().message}});
  if (standing_.link == Link::ready) standing_.link = Link::refused;
  standing_.reason = status.error().message;
  return false;
}

base::Status RemoteWorker::Core::take_card(const proto::Card& message, Lock& lock) {
  wire::WorkerCard card = decode(message);
  const auto refuse = [&](Error error) {
    standing_.link = Link::refused;
    return error;
  };
  if (message.protocol() != kProtocol)
    return refuse(base::error(ErrorCode::unsupported, "'{}' speaks version {} of the protocol, not {}",
                              options_.address, message.protocol(), kProtocol));
  if (message.vocab_size() <= 0 || card.num_blocks <= 0 || card.context_length <= 0)
    return refuse(base::error(ErrorCode::corrupt, "'{}' says nothing of its model", options_.address));
  if (!fingerprint_.empty() && card.fingerprint != fingerprint_)
    return refuse(base::error(ErrorCode::conflict, "'{}' has other weights or another program: {}, not {}",
                              options_.address, card.fingerprint, fingerprint_));
  if (!text_digest_.empty() && card.text_digest != text_digest_)
    return refuse(
        base::error(ErrorCode::conflict, "'{}' has another tokenizer or template", options_.address));
  fingerprint_ = card.fingerprint;
  text_digest_ = card.text_digest;
  vocab_size_ = message.vocab_size();
  max_queue_ = message.max_queue();
  card.address = options_.address;
  if (!options_.id.empty()) card.id = options_.id;
  report_ = {.num_blocks = card.num_blocks, .num_free_blocks = card.num_blocks};
  prospect_ = {};
  sent_.clear();
  steps_.clear();
  num_attempts_ = 0;
  standing_ = {.link = Link::ready, .card = std::move(card)};
  if (sink_) {
    pending_.set_watch_blocks(true);
    has_pending_ = true;
  }
  obs::Log::debug("worker_connected", {{"worker", options_.id}, {"address", options_.address}});
  lock.unlock();
  tell();
  lock.lock();
  flush(lock);
  return base::ok();
}

base::Status RemoteWorker::Core::take_events(const proto::ToGateway& message, Lock& lock) {
  std::vector<seam::TokenStream::Delivery> deliveries;
  deliveries.reserve(static_cast<std::size_t>(message.events_size()));
  base::Status status = base::ok();
  for (const proto::Event& one : message.events()) {
    const auto found = streams_.find(one.stream());
    if (found == streams_.end()) continue;  // it was aborted meanwhile
    Result<wire::TokenEvent> event = decode(one, found->second.usage, vocab_size_);
    if (!event.ok()) {
      status = std::move(event).error();
      break;
    }
    if (!event->prefill.empty()) shift(*event, offset_s_);
    const bool last = event->last();
    deliveries.push_back({found->second.stream, std::move(*event)});
    if (last) streams_.erase(found);
  }
  // Readers run elsewhere, and may come back with credit at once.
  lock.unlock();
  seam::TokenStream::send(std::move(deliveries));
  lock.lock();
  return status;
}

base::Status RemoteWorker::Core::take_report(const proto::Report& message, Lock& lock) {
  TRY(prospect_, decode_prospect(message));
  report_ = decode_report(message);
  reported_s_ = steady_now_s();
  // The least that was seen is the closest to the truth, since messages only ever take longer.
  const double offset_s = reported_s_ - message.now_s();
  offset_s_ = knows_offset_ ? std::min(offset_s_, offset_s) : offset_s;
  knows_offset_ = true;
  std::erase_if(sent_, [&](const Sent& one) { return one.stream <= message.last_stream(); });
  if (std::exchange(standing_.draining, message.draining()) == message.draining()) return base::ok();
  lock.unlock();
  tell();
  lock.lock();
  return base::ok();
}

base::Status RemoteWorker::Core::take_blocks(const proto::ToGateway& message, Lock& lock) {
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

void RemoteWorker::Core::take_activity(const proto::Activity& message, const Lock& /*lock*/) {
  activity_ = decode(message);
  shift(activity_, offset_s_);
  for (wire::StepRecord& step : std::exchange(activity_.steps, {})) {
    if (!steps_.empty() && step.number <= steps_.back().number) continue;
    steps_.push_back(std::move(step));
    if (steps_.size() > kMostSteps) steps_.pop_front();
  }
  asked_activity_ = false;
}

void RemoteWorker::Core::ended(const grpc::Status& status) {
  std::vector<seam::TokenStream::Delivery> deliveries;
  {
    const Lock lock(mutex_);
    const std::string why = status.ok() ? "it has ended the connection" : status.error_message();
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
    sent_.clear();
  }
  seam::TokenStream::send(std::move(deliveries));
  tell();
  const Lock lock(mutex_);
  call_ = nullptr;
  retry_later(lock);
  call_ended_.notify_all();
}

// Many gateways that lose a worker at once come back at different times.
void RemoteWorker::Core::retry_later(const Lock& /*lock*/) {
  if (stopping_) return;
  thread_local std::minstd_rand random{std::random_device{}()};
  const double whole_s =
      std::min(base::seconds(options_.first_retry) * std::exp2(std::min(num_attempts_++, 30)),
               base::seconds(options_.last_retry));
  const double delay_s = whole_s * std::uniform_real_distribution(0.5, 1.0)(random);
  retry_->expires_after(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(delay_s)));
  retry_->async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    if (const auto core = weak.lock(); core && !error) core->connect();
  });
}

void RemoteWorker::Core::tell() {
  if (!on_standing_) return;
  const std::lock_guard telling(telling_);
  on_standing_(standing());
}

RemoteWorker::Standing RemoteWorker::Core::standing() const {
  const Lock lock(mutex_);
  return standing_;
}

seam::Prospect RemoteWorker::Core::prospect() const {
  const Lock lock(mutex_);
  seam::Prospect prospect = prospect_;
  prospect.age_s += steady_now_s() - reported_s_;
  for (const Sent& one : sent_) prospect.arrived.push_back(one.line);
  return prospect;
}

wire::WorkerReport RemoteWorker::Core::report() const {
  const Lock lock(mutex_);
  wire::WorkerReport report = report_;
  report.num_waiting += static_cast<int>(sent_.size());
  for (const Sent& one : sent_) ++report.waiting[one.line.priority];
  if (standing_.link != Link::ready) report.progressing = false;
  return report;
}

wire::Activity RemoteWorker::Core::activity(std::uint64_t after_step) {
  const Lock lock(mutex_);
  if (!asked_activity_ && standing_.link == Link::ready) {
    pending_.set_activity_after(steps_.empty() ? after_step : std::max(after_step, steps_.back().number));
    has_pending_ = asked_activity_ = true;
    flush(lock);
  }
  wire::Activity activity = activity_;
  for (const wire::StepRecord& step : steps_)
    if (step.number > after_step) activity.steps.push_back(step);
  return activity;
}

void RemoteWorker::Core::watch_blocks(std::shared_ptr<seam::BlockSink> sink) {
  const Lock lock(mutex_);
  sink_ = std::move(sink);
  if (standing_.link != Link::ready) return;
  pending_.set_watch_blocks(sink_ != nullptr);
  has_pending_ = true;
  flush(lock);
}

Result<std::shared_ptr<RemoteWorker>> RemoteWorker::create(Options options, asio::any_io_executor timers,
                                                           OnStanding on_standing) {
  TRY_OK(check_address(options.address, options.peer));
  if (options.id.empty()) options.id = options.address;
  quiet_grpc();
  auto core = std::make_shared<Core>(std::move(options), std::move(timers), std::move(on_standing));
  core->connect();
  return std::shared_ptr<RemoteWorker>(new RemoteWorker(std::move(core)));
}

RemoteWorker::~RemoteWorker() {
  core_->stop();
}

void RemoteWorker::stop() {
  core_->stop();
}

Result<seam::TokenReader> RemoteWorker::generate(wire::GenerateRequest request,
                                                 asio::any_io_executor reader) {
  return core_->generate(std::move(request), std::move(reader));
}

wire::Forecast RemoteWorker::forecast(const wire::Outline& outline) const {
  const seam::Prospect prospect = core_->prospect();
  if (!prospect.outlook) return {};
  return sched::forecast(*prospect.outlook, prospect.arrived, outline, outline.num_cached_tokens.value_or(0),
                         prospect.age_s);
}

seam::Prospect RemoteWorker::prospect() const {
  return core_->prospect();
}

wire::WorkerReport RemoteWorker::report() const {
  return core_->report();
}

wire::Activity RemoteWorker::activity(std::uint64_t after_step) {
  return core_->activity(after_step);
}

void RemoteWorker::watch_blocks(std::shared_ptr<seam::BlockSink> sink) {
  core_->watch_blocks(std::move(sink));
}

RemoteWorker::Standing RemoteWorker::standing() const {
  return core_->standing();
}

Result<TextAssets> RemoteWorker::read_text(base::Duration timeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  const auto reader = core_->stub().ReadText(&context, {});
  std::string bytes;
  std::optional<proto::TextHead> head;
  proto::TextPiece piece;
  while (reader->Read(&piece)) {
    if (piece.has_head()) head = piece.head();
    bytes += piece.data();
    if (bytes.size() > kMostTextBytes) context.TryCancel();
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok())
    return base::error(ErrorCode::unavailable, "the worker's tokenizer did not come: {}",
                       status.error_message());
  if (!head) return base::error(ErrorCode::corrupt, "the worker's tokenizer came without its head");
  TextAssets assets = decode(*head);
  std::size_t at = 0;
  for (std::size_t i = 0; i < assets.files.size(); ++i) {
    const std::uint64_t size = head->files(static_cast<int>(i)).size();
    if (size > bytes.size() - at)
      return base::error(ErrorCode::corrupt, "the worker's tokenizer came in part");
    assets.files[i].bytes = bytes.substr(at, size);
    at += size;
  }
  return assets;
}

base::Status RemoteWorker::drain(base::Duration timeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  proto::DrainReply reply;
  const grpc::Status status = core_->stub().Drain(&context, {}, &reply);
  if (status.ok()) return base::ok();
  return base::error(ErrorCode::unavailable, "the worker could not be asked: {}", status.error_message());
}

}  // namespace kvasir::remote
