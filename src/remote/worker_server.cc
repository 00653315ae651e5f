#include "remote/worker_server.h"

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "obs/log.h"
#include "remote/codec.h"
#include "remote/grammar_slots.h"
#include "remote/grpc_peer.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// What is in one message at most: further events wait for the next one.
constexpr std::size_t kEventBytes = std::size_t{4} << 20;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// Block changes that a slow gateway has not taken; beyond them it gets all blocks anew.
constexpr std::size_t kMostPendingHashes = std::size_t{1} << 20;

using Clock = std::chrono::steady_clock;

Error leaving() {
  return {ErrorCode::unavailable, "the worker is being drained", {}, std::string(wire::kDraining), 1};
}

// Errors by which a worker is lost have one reason, whatever it calls them among its own. A worker that
// leaves says so: its requests are not to blame.
Error as_remote(Error error) {
  if (wire::is_worker_lost(error) && error.reason != wire::kDraining) error.reason = wire::kWorkerLost;
  return error;
}

std::size_t estimated_bytes(const wire::TokenEvent& event) {
  std::size_t bytes = 32;
  for (const auto* tokens : {&event.tokens, &event.prompt})
    for (const wire::Token& token : *tokens)
      bytes += 4 + (token.logprob ? 8 + 8 * token.logprob->top.size() : 0);
  return bytes;
}

// Runs jobs one after the other on a thread of its own, which compiles grammars.
class CompileThread {
 public:
  CompileThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void add(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace

class WorkerServer::Impl {
 public:
  Impl(Options options, Served served)
      : options_(std::move(options)), served_(std::move(served)), service_(*this) {}
  ~Impl();

  base::Status start();
  void drain() { draining_ = true; }
  bool wait_idle(base::Duration timeout) const;
  Stats stats() const {
    return {num_gateways_.load(), num_streams_.load(), num_events_.load(), num_messages_.load()};
  }

  class Link;
  class Blocks;
  class TextWriter;

  class Service final : public proto::Worker::CallbackService {
   public:
    explicit Service(Impl& server) : server_(server) {}
    grpc::ServerBidiReactor<proto::ToWorker, proto::ToGateway>* Connect(
        grpc::CallbackServerContext* context) override;
    grpc::ServerWriteReactor<proto::TextPiece>* ReadText(grpc::CallbackServerContext* context,
                                                         const proto::TextRequest* request) override;
    grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const proto::DrainRequest* request,
                                    proto::DrainReply* reply) override;

   private:
    Impl& server_;
  };

  void tick();
  // Something has changed after a quiet time, so that the next report should not be late.
  void hurry();
  void count_streams(int by);
  void spread(wire::BlockChanges changes);

  const Options options_;
  Served served_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::steady_timer timer_{io_};
  bool is_quiet_ = true;                  // touched by the thread; the timer waits for the idle interval
  std::map<std::uint64_t, Link*> links_;  // touched by the thread; each deletes itself
  std::uint64_t last_link_ = 0;           // touched by the thread
  std::shared_ptr<Blocks> blocks_;        // null until a gateway asks
  std::atomic<bool> draining_{false};
  std::atomic<int> num_gateways_{0};
  std::atomic<int> num_streams_{0};
  std::atomic<std::uint64_t> num_events_{0};
  std::atomic<std::uint64_t> num_messages_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable fewer_;  // streams or links
  CompileThread compiling_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

// Hands the worker's block changes to the server's thread.
class WorkerServer::Impl::Blocks final : public seam::BlockSink {
 public:
  explicit Blocks(Impl& server) : server_(&server) {}
  void on_blocks(wire::BlockChanges changes) override {
    const std::lock_guard lock(mutex_);
    if (server_ == nullptr) return;
    asio::post(server_->io_, [server = server_, changes = std::move(changes)]() mutable {
      server->spread(std::move(changes));
    });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    server_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Impl* server_;  // guarded by mutex_; null once the server goes
};

// The connection of one gateway. gRPC calls the reactions on threads of its own; each only posts to the
// server's thread, which does everything else. It deletes itself when the call has ended.
class WorkerServer::Impl::Link final : public grpc::ServerBidiReactor<proto::ToWorker, proto::ToGateway> {
 public:
  explicit Link(Impl& server) : server_(server) {
    ++server_.num_gateways_;
    asio::post(server_.io_, [this] { begin(); });
  }

  void OnReadDone(bool ok) override {
    asio::post(server_.io_, [this, ok] { ok ? take() : finish(grpc::Status::OK); });
  }
  void OnWriteDone(bool ok) override {
    asio::post(server_.io_, [this, ok] { written(ok); });
  }
  void OnCancel() override {
    asio::post(server_.io_, [this] { finish(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    asio::post(server_.io_, [this] { end(); });
  }

  void report(Clock::time_point now);
  void add_blocks(const wire::BlockChanges& changes);
  bool wants_anew() const { return watches_blocks_ && awaits_anew_; }
  // Ends every stream, tells the gateway, and hangs up.
  void close(const Error& error);
  bool is_busy() const { return !streams_.empty(); }

 private:
  struct Running {
    std::optional<seam::TokenReader> reader;  // none while the grammar is compiled
    int credit = 0;  // tokens that may be sent before the gateway's reader takes more
    wire::Usage usage;
    bool has_news = false;
  };
  using Streams = std::unordered_map<std::uint64_t, Running>;

  void begin();
  void end();
  void take();
  base::Status greet(const proto::Hello& hello);
  void generate(proto::Generate&& message);
  void compile(std::uint64_t stream, wire::GenerateRequest request, grammar::GrammarSource source);
  void start(std::uint64_t stream, wire::GenerateRequest request);
  void refuse(std::uint64_t stream, Error error);
  void erase(Streams::iterator stream);
  void drop_all();
  void news_of(std::uint64_t stream);
  void flush_soon();
  void flush();
  void take_events();
  void fill_report(Clock::time_point now);
  void written(bool ok);
  void finish(const grpc::Status& status);

  Impl& server_;
  std::uint64_t number_ = 0;
  proto::ToWorker in_;
  proto::ToGateway out_;   // while writing_, on its way
  proto::ToGateway next_;  // blocks, activity and refusals that go with the next one
  bool has_next_ = false;
  bool greeted_ = false;
  bool writing_ = false;
  bool flush_posted_ = false;
  bool closing_ = false;  // hangs up once everything is written
  bool finished_ = false;
  int window_ = 0;
  std::uint64_t last_stream_ = 0;
  Streams streams_;
  std::vector<std::uint64_t> with_news_;
  std::array<std::optional<grammar::GrammarSource>, GrammarSlots::kMost> sources_;
  bool watches_blocks_ = false;
  bool awaits_anew_ = false;
  std::size_t num_pending_hashes_ = 0;
  Clock::time_point reported_{};
  std::string last_report_;  // what it said, but for times
  bool report_due_ = false;
};

void WorkerServer::Impl::Link::begin() {
  number_ = ++server_.last_link_;
  server_.links_.emplace(number_, this);
  StartRead(&in_);
}

void WorkerServer::Impl::Link::end() {
  drop_all();
  server_.links_.erase(number_);
  {
    const std::lock_guard lock(server_.mutex_);
    --server_.num_gateways_;
  }
  server_.fewer_.notify_all();
  delete this;
}

void WorkerServer::Impl::Link::take() {
  if (finished_) return;
  base::Status status = base::ok();
  if (in_.has_hello()) status = greet(in_.hello());
  if (status.ok() && !greeted_)
    status = base::error(ErrorCode::corrupt, "a gateway must introduce itself first");
  if (!status.ok()) {
    obs::Log::warn("gateway_refused", {{"reason", status.error().message}});
    return finish({grpc::StatusCode::FAILED_PRECONDITION, status.error().message});
  }
  for (proto::Generate& message : *in_.mutable_generate()) generate(std::move(message));
  for (const std::uint64_t stream : in_.abort())
    if (const auto found = streams_.find(stream); found != streams_.end()) erase(found);
  for (const proto::Credit& credit : in_.credit())
    if (const auto found = streams_.find(credit.stream()); found != streams_.end() && credit.tokens() > 0) {
      found->second.credit += std::min(credit.tokens(), window_);
      news_of(credit.stream());
    }
  if (in_.has_watch_blocks()) {
    watches_blocks_ = awaits_anew_ = in_.watch_blocks();
    if (watches_blocks_) server_.served_.worker->watch_blocks(server_.blocks_);
  }
  if (in_.has_activity_after()) {
    encode(server_.served_.worker->activity(in_.activity_after()), *next_.mutable_activity());
    has_next_ = true;
    flush_soon();
  }
  in_.Clear();
  StartRead(&in_);
}

base::Status WorkerServer::Impl::Link::greet(const proto::Hello& hello) {
  if (hello.protocol() != kProtocol)
    return base::error(ErrorCode::unsupported, "the gateway '{}' speaks version {} of the protocol, not {}",
                       hello.gateway(), hello.protocol(), kProtocol);
  if (hello.window_tokens() <= 0) return base::error(ErrorCode::corrupt, "a gateway without a window");
  greeted_ = true;
  window_ = hello.window_tokens();
  proto::Card& card = *next_.mutable_card();
  encode(server_.served_.card, card);
  card.set_vocab_size(server_.served_.text.vocab_size);
  card.set_max_queue(server_.served_.max_queue);
  has_next_ = report_due_ = true;
  obs::Log::debug("gateway_connected", {{"gateway", hello.gateway()}});
  flush_soon();
  return base::ok();
}

void WorkerServer::Impl::Link::generate(proto::Generate&& message) {
  const std::uint64_t stream = message.stream();
  last_stream_ = std::max(last_stream_, stream);
  // A source stays for later requests, whatever becomes of this one.
  const std::uint32_t slot = message.grammar_slot();
  if (slot > GrammarSlots::kMost)
    return refuse(stream, base::error(ErrorCode::corrupt, "a grammar in slot {}", slot));
  if (slot > 0 && message.has_grammar()) {
    auto source = decode(message.grammar());
    if (!source.ok()) return refuse(stream, std::move(source).error());
    sources_[slot - 1] = std::move(*source);
  }
  if (server_.draining_) return refuse(stream, leaving());
  if (streams_.contains(stream)) return;
  auto request = decode(message, server_.served_.text.vocab_size);
  if (!request.ok()) return refuse(stream, std::move(request).error());
  streams_.emplace(stream, Running{.credit = window_});
  server_.count_streams(1);
  server_.hurry();
  if (slot == 0) return start(stream, std::move(*request));
  if (!sources_[slot - 1]) {
    erase(streams_.find(stream));
    return refuse(stream, base::error(ErrorCode::corrupt, "a grammar whose source has not come"));
  }
  compile(stream, std::move(*request), *sources_[slot - 1]);
}

// Compiling may take long, so that only what is compiled already is had on this thread.
void WorkerServer::Impl::Link::compile(std::uint64_t stream, wire::GenerateRequest request,
                                       grammar::GrammarSource source) {
  const std::shared_ptr<grammar::GrammarCompiler> grammars = server_.served_.grammars;
  const auto go_on = [&server = server_, link = number_, stream](
                         wire::GenerateRequest ready,
                         Result<std::shared_ptr<grammar::CompiledGrammar>> made) {
    const auto found = server.links_.find(link);
    if (found == server.links_.end() || !found->second->streams_.contains(stream))
      return;  // aborted meanwhile
    Link& self = *found->second;
    if (made.ok()) {
      ready.grammar = std::move(*made);
      return self.start(stream, std::move(ready));
    }
    self.erase(self.streams_.find(stream));
    self.refuse(stream, std::move(made).error());
  };
  if (grammars->is_compiled(source)) return go_on(std::move(request), grammars->compile(source));
  server_.compiling_.add([grammars, go_on, &io = server_.io_, request = std::move(request),
                          source = std::move(source)]() mutable {
    auto made = grammars->compile(source);
    asio::post(io, [go_on, request = std::move(request), made = std::move(made)]() mutable {
      go_on(std::move(request), std::move(made));
    });
  });
}

void WorkerServer::Impl::Link::start(std::uint64_t stream, wire::GenerateRequest request) {
  auto reader = server_.served_.worker->generate(std::move(request), server_.io_.get_executor());
  const auto found = streams_.find(stream);
  if (!reader.ok()) {
    erase(found);
    return refuse(stream, std::move(reader).error());
  }
  (*reader)->on_event([this, stream] { news_of(stream); });
  found->second.reader.emplace(std::move(*reader));
}

void WorkerServer::Impl::Link::refuse(std::uint64_t stream, Error error) {
  wire::TokenEvent event;
  event.error = as_remote(std::move(error));
  wire::Usage none;
  proto::Event& out = *next_.add_events();
  encode(event, none, out);
  out.set_stream(stream);
  has_next_ = true;
  flush_soon();
}

void WorkerServer::Impl::Link::erase(Streams::iterator stream) {
  if (stream->second.reader) (*stream->second.reader)->on_event({});
  streams_.erase(stream);
  server_.count_streams(-1);
}

void WorkerServer::Impl::Link::drop_all() {
  while (!streams_.empty()) erase(streams_.begin());
}

void WorkerServer::Impl::Link::news_of(std::uint64_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || std::exchange(found->second.has_news, true)) return;
  with_news_.push_back(stream);
  flush_soon();
}

// The events of a step come in one handler of the server's thread, and this one runs after it: they go in one
// message.
void WorkerServer::Impl::Link::flush_soon() {
  if (writing_ || finished_ || std::exchange(flush_posted_, true)) return;
  asio::post(server_.io_, [&server = server_, link = number_] {
    if (const auto found = server.links_.find(link); found != server.links_.end()) found->second->flush();
  });
}

void WorkerServer::Impl::Link::flush() {
  flush_posted_ = false;
  if (writing_ || finished_ || !greeted_) return;
  out_.Clear();
  if (has_next_) out_.Swap(&next_);
  const bool had_next = std::exchange(has_next_, false);
  num_pending_hashes_ = 0;
  take_events();
  const Clock::time_point now = Clock::now();
  if (report_due_ || (out_.events_size() > 0 && now - reported_ >= server_.options_.report_every))
    fill_report(now);
  if (!had_next && out_.events_size() == 0 && !out_.has_report()) {
    if (closing_) finish(grpc::Status::OK);
    return;
  }
  if (out_.events_size() > 0) {
    server_.num_events_ += static_cast<std::uint64_t>(out_.events_size());
    ++server_.num_messages_;
  }
  writing_ = true;
  StartWrite(&out_);
}

// A stream without credit keeps its events, so that its sequence pauses once they are many.
void WorkerServer::Impl::Link::take_events() {
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (taken < with_news_.size() && bytes < kEventBytes) {
    const auto found = streams_.find(with_news_[taken++]);
    if (found == streams_.end()) continue;
    Running& running = found->second;
    running.has_news = false;
    if (!running.reader || running.credit <= 0) continue;
    std::optional<wire::TokenEvent> event = (*running.reader)->take();
    if (!event) continue;
    running.credit -= static_cast<int>(event->tokens.size());
    bytes += estimated_bytes(*event);
    if (event->error) event->error = as_remote(std::move(*event->error));
    proto::Event& out = *out_.add_events();
    encode(*event, running.usage, out);
    out.set_stream(found->first);
    if (event->last()) erase(found);
  }
  with_news_.erase(with_news_.begin(), with_news_.begin() + static_cast<std::ptrdiff_t>(taken));
}

void WorkerServer::Impl::Link::report(Clock::time_point now) {
  if (!greeted_ || finished_) return;
  const wire::WorkerReport current = server_.served_.worker->report();
  std::string said =
      fmt::format("{} {} {} {} {} {} {}", current.num_running, current.num_waiting, current.num_free_blocks,
                  current.num_cached_blocks, current.failed, current.progressing, server_.draining_.load());
  const bool busy = current.num_running + current.num_waiting > 0;
  if (!busy && said == last_report_ && now - reported_ < server_.options_.idle_report_every) return;
  last_report_ = std::move(said);
  report_due_ = true;
  flush_soon();
}

void WorkerServer::Impl::Link::fill_report(Clock::time_point now) {
  proto::Report& report = *out_.mutable_report();
  encode(server_.served_.worker->prospect(), report);
  encode(server_.served_.worker->report(), report);
  report.set_draining(server_.draining_);
  report.set_last_stream(last_stream_);
  report.set_now_s(base::seconds(Clock::now().time_since_epoch()));
  reported_ = now;
  report_due_ = false;
}

void WorkerServer::Impl::Link::add_blocks(const wire::BlockChanges& changes) {
  if (!watches_blocks_ || finished_ || (awaits_anew_ && !changes.anew)) return;
  if (changes.anew) {
    next_.clear_blocks();
    num_pending_hashes_ = 0;
  }
  awaits_anew_ = false;
  num_pending_hashes_ += changes.added.size() + changes.removed.size();
  if (!changes.anew && num_pending_hashes_ > kMostPendingHashes) {
    next_.clear_blocks();
    awaits_anew_ = true;  // the next tick asks for them
    return;
  }
  encode(changes, *next_.add_blocks());
  has_next_ = true;
  flush_soon();
}

void WorkerServer::Impl::Link::written(bool ok) {
  writing_ = false;
  if (!ok) return;  // the read fails too, and ends the link
  flush();
}

void WorkerServer::Impl::Link::close(const Error& error) {
  for (const auto& [stream, running] : streams_) refuse(stream, error);
  drop_all();
  closing_ = true;
  flush_soon();
}

void WorkerServer::Impl::Link::finish(const grpc::Status& status) {
  if (std::exchange(finished_, true)) return;
  drop_all();
  Finish(status);
}

// Sends the text's head, then its files in pieces.
class WorkerServer::Impl::TextWriter final : public grpc::ServerWriteReactor<proto::TextPiece> {
 public:
  explicit TextWriter(const TextAssets& text) {
    encode(text, *piece_.mutable_head());
    for (const TextFile& file : text.files) bytes_ += file.bytes;
    StartWrite(&piece_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    if (at_ >= bytes_.size()) return Finish(grpc::Status::OK);
    piece_.Clear();
    piece_.set_data(bytes_.substr(at_, kPieceBytes));
    at_ += kPieceBytes;
    StartWrite(&piece_);
  }
  void OnDone() override { delete this; }

 private:
  proto::TextPiece piece_;
  std::string bytes_;
  std::size_t at_ = 0;
};

grpc::ServerBidiReactor<proto::ToWorker, proto::ToGateway>* WorkerServer::Impl::Service::Connect(
    grpc::CallbackServerContext* /*context*/) {
  return new Link(server_);
}

grpc::ServerWriteReactor<proto::TextPiece>* WorkerServer::Impl::Service::ReadText(
    grpc::CallbackServerContext* /*context*/, const proto::TextRequest* /*request*/) {
  return new TextWriter(server_.served_.text);
}

grpc::ServerUnaryReactor* WorkerServer::Impl::Service::Drain(grpc::CallbackServerContext* context,
                                                             const proto::DrainRequest* /*request*/,
                                                             proto::DrainReply* reply) {
  server_.drain();
  if (server_.options_.on_drain) server_.options_.on_drain();
  reply->set_num_streams(server_.num_streams_);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

base::Status WorkerServer::Impl::start() {
  TRY_OK(check_address(options_.listen, options_.peer));
  quiet_grpc();
  blocks_ = std::make_shared<Blocks>(*this);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options_.listen, server_credentials(options_.peer), &port_);
  builder.RegisterService(&service_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMostMessageBytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Gateways ping often, so that they find a worker that hangs, and this finds gateways that do.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  thread_ = std::thread([this] { io_.run(); });
  server_ = builder.BuildAndStart();
  if (!server_ || port_ == 0)
    return base::error(ErrorCode::unavailable,
                       "cannot listen on {} for gateways; choose another with --listen", options_.listen);
  served_.card.address = options_.listen.substr(0, options_.listen.rfind(':') + 1) + std::to_string(port_);
  asio::post(io_, [this] { tick(); });
  return base::ok();
}

// Gateways hear why their streams end before the connection does.
WorkerServer::Impl::~Impl() {
  draining_ = true;
  if (blocks_) {
    served_.worker->watch_blocks(nullptr);
    blocks_->end();
  }
  if (server_) {
    asio::post(io_, [this] {
      timer_.cancel();
      for (const auto& [number, link] : std::map(links_)) link->close(leaving());
    });
    {
      std::unique_lock lock(mutex_);
      fewer_.wait_for(lock, std::chrono::seconds(1), [this] { return num_gateways_ == 0; });
    }
    server_->Shutdown(std::chrono::system_clock::now());
    {
      std::unique_lock lock(mutex_);
      fewer_.wait(lock, [this] { return num_gateways_ == 0; });
    }
    server_->Wait();
  }
  compiling_.stop();
  work_.reset();
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

bool WorkerServer::Impl::wait_idle(base::Duration timeout) const {
  std::unique_lock lock(mutex_);
  return fewer_.wait_for(lock, timeout, [this] { return num_streams_ == 0; });
}

void WorkerServer::Impl::count_streams(int by) {
  bool idle = false;
  {
    const std::lock_guard lock(mutex_);
    idle = (num_streams_ += by) == 0;
  }
  if (idle) fewer_.notify_all();
}

void WorkerServer::Impl::tick() {
  const Clock::time_point now = Clock::now();
  bool wants_anew = false;
  bool busy = false;
  for (const auto& [number, link] : links_) {
    link->report(now);
    wants_anew |= link->wants_anew();
    busy |= link->is_busy();
  }
  if (wants_anew) served_.worker->watch_blocks(blocks_);
  is_quiet_ = !busy;
  timer_.expires_after(busy ? options_.report_every : options_.idle_report_every / 4);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void WorkerServer::Impl::hurry() {
  if (!std::exchange(is_quiet_, false)) return;
  timer_.expires_after(options_.report_every);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void WorkerServer::Impl::spread(wire::BlockChanges changes) {
  for (const auto& [number, link] : links_) link->add_blocks(changes);
}

WorkerServer::WorkerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerServer::~WorkerServer() = default;

Result<std::unique_ptr<WorkerServer>> WorkerServer::start(Options options, Served served) {
  served.card.text_digest = digest_of(served.text);
  auto impl = std::make_unique<Impl>(std::move(options), std::move(served));
  TRY_OK(impl->start());
  return std::unique_ptr<WorkerServer>(new WorkerServer(std::move(impl)));
}

int WorkerServer::port() const {
  return impl_->port_;
}

const wire::WorkerCard& WorkerServer::card() const {
  return impl_->served_.card;
}

void WorkerServer::drain() {
  impl_->drain();
}

bool WorkerServer::wait_idle(base::Duration timeout) const {
  return impl_->wait_idle(timeout);
}

WorkerServer::Stats WorkerServer::stats() const {
  return impl_->stats();
}

}  // namespace kvasir::remote
