#include "remote/gateway_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "obs/log.h"
#include "remote/codec.h"
#include "remote/protocol.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {

namespace asio = boost::asio;
using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A message takes no more events after this many bytes; the others wait for the next message.
constexpr std::size_t kEventBytes = std::size_t{4} << 20;
// Most block changes kept for a slow gateway. Beyond them it gets all blocks anew.
constexpr std::size_t kMostPendingHashes = std::size_t{1} << 20;
// Most refusals kept for a slow gateway. Beyond them it is cut off.
constexpr int kMostPendingRefusals = 1 << 14;

// A gateway knows only one reason for a lost worker, so the reasons of this worker's engine are replaced by
// it. kDraining stays: the requests of a draining worker are not to blame.
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

}  // namespace

GatewayLink::GatewayLink(GatewayLinks& links) : links_(links) {
  links_.opened();
  asio::post(links_.io(), [this] { begin(); });
}

void GatewayLink::OnReadDone(bool ok) {
  asio::post(links_.io(), [this, ok] { ok ? take() : finish(grpc::Status::OK); });
}

void GatewayLink::OnWriteDone(bool ok) {
  asio::post(links_.io(), [this, ok] { written(ok); });
}

void GatewayLink::OnCancel() {
  asio::post(links_.io(), [this] { finish(grpc::Status::CANCELLED); });
}

void GatewayLink::OnDone() {
  asio::post(links_.io(), [this] { end(); });
}

void GatewayLink::begin() {
  number_ = links_.add(*this);
  StartRead(&in_);
}

void GatewayLink::end() {
  drop_all();
  links_.remove(number_);
  links_.closed();
  delete this;
}

void GatewayLink::take() {
  if (finished_) return;
  base::Status status = base::ok();
  if (in_.has_hello())
    status = take_hello();
  else if (window_ == 0)
    status = base::error(ErrorCode::corrupt, "a gateway must introduce itself first");
  if (status.ok() && next_.events_size() > kMostPendingRefusals)
    status = base::error(ErrorCode::exhausted, "the gateway reads no answers");
  if (!status.ok()) {
    obs::Log::warn("gateway_refused", {{"reason", status.error().message}});
    return finish({grpc::StatusCode::FAILED_PRECONDITION, status.error().message});
  }
  for (proto::Generate& message : *in_.mutable_generate()) generate(std::move(message));
  for (const std::uint64_t stream : in_.abort())
    if (const auto found = streams_.find(stream); found != streams_.end()) erase(found);
  for (const proto::Credit& credit : in_.credit()) take_credit(credit);
  if (in_.has_watch_blocks()) {
    watches_blocks_ = awaits_anew_ = in_.watch_blocks();
    if (watches_blocks_) links_.watch_blocks();
  }
  if (in_.has_activity_after()) {
    next_.clear_activity();  // the answer to an earlier question that has not left yet
    encode(links_.served().worker->activity(in_.activity_after()), *next_.mutable_activity());
    has_next_ = true;
    flush_soon();
  }
  in_.Clear();
  StartRead(&in_);
}

base::Status GatewayLink::take_hello() {
  const proto::Hello& hello = in_.hello();
  TRY_OK(check_common(fmt::format("the gateway '{}'", hello.gateway()), protocols_of(hello)));
  if (hello.window_tokens() <= 0) return base::error(ErrorCode::corrupt, "a gateway without a window");
  if (window_ != 0) return base::error(ErrorCode::corrupt, "a gateway introduced itself twice");
  window_ = hello.window_tokens();
  const WorkerServer::Served& served = links_.served();
  proto::Card& card = *next_.mutable_card();
  encode(served.card, card);
  card.set_vocab_size(served.text.vocab_size);
  card.set_max_queue(served.max_queue);
  has_next_ = report_due_ = true;
  obs::Log::debug("gateway_connected", {{"gateway", hello.gateway()}});
  flush_soon();
  return base::ok();
}

void GatewayLink::take_credit(const proto::Credit& credit) {
  const auto found = streams_.find(credit.stream());
  if (found == streams_.end() || credit.tokens() <= 0) return;
  int& has = found->second.credit;
  has = credit.tokens() > window_ - has ? window_ : has + credit.tokens();
  news_of(credit.stream());
}

void GatewayLink::generate(proto::Generate&& message) {
  const std::uint64_t stream = message.stream();
  last_stream_ = std::max(last_stream_, stream);
  // The source is kept for later requests, even if this one is refused.
  const std::uint32_t slot = message.grammar_slot();
  if (slot > GrammarSlots::kMost)
    return refuse(stream, base::error(ErrorCode::corrupt, "a grammar in slot {}", slot));
  if (slot > 0 && message.has_grammar()) {
    auto source = decode(message.grammar());
    if (!source.ok()) return refuse(stream, std::move(source).error());
    sources_[slot - 1] = std::move(*source);
  }
  if (links_.draining()) return refuse(stream, leaving());
  if (streams_.contains(stream)) return;
  auto request = decode(message, links_.served().text.vocab_size);
  if (!request.ok()) return refuse(stream, std::move(request).error());
  if (slot > 0 && !sources_[slot - 1])
    return refuse(stream, base::error(ErrorCode::corrupt, "a grammar whose source has not come"));
  streams_.emplace(stream, Running{.credit = window_});
  links_.count_streams(1);
  links_.hurry();
  if (slot == 0) return start(stream, std::move(*request));
  compile(stream, std::move(*request), *sources_[slot - 1]);
}

// Compiling may take long, so this thread only uses grammars that are already compiled.
void GatewayLink::compile(std::uint64_t stream, wire::GenerateRequest request,
                          const grammar::GrammarSource& source) {
  const std::shared_ptr<grammar::GrammarCompiler> grammars = links_.served().grammars;
  if (grammars->is_compiled(source)) return compiled(stream, std::move(request), grammars->compile(source));
  const bool waits = links_.compiling().add(
      [&links = links_, number = number_, stream, grammars, source, request = std::move(request)]() mutable {
        auto made = grammars->compile(source);
        asio::post(links.io(),
                   [&links, number, stream, request = std::move(request), made = std::move(made)]() mutable {
                     if (GatewayLink* link = links.find(number))
                       link->compiled(stream, std::move(request), std::move(made));
                   });
      });
  if (!waits)
    drop(stream, {ErrorCode::exhausted,
                  "too many grammars wait to be compiled; try again later",
                  {},
                  "rate_limit_exceeded",
                  1});
}

void GatewayLink::compiled(std::uint64_t stream, wire::GenerateRequest request,
                           Result<std::shared_ptr<grammar::CompiledGrammar>> grammar) {
  if (!streams_.contains(stream)) return;  // aborted meanwhile
  if (!grammar.ok()) return drop(stream, std::move(grammar).error());
  request.grammar = std::move(*grammar);
  start(stream, std::move(request));
}

void GatewayLink::start(std::uint64_t stream, wire::GenerateRequest request) {
  auto reader =
      links_.served().worker->generate(links_.with_arrivals(std::move(request)), links_.io().get_executor());
  if (!reader.ok()) return drop(stream, std::move(reader).error());
  (*reader)->on_event([this, stream] { news_of(stream); });
  streams_.find(stream)->second.reader.emplace(std::move(*reader));
}

void GatewayLink::refuse(std::uint64_t stream, Error error) {
  wire::TokenEvent event;
  event.error = as_remote(std::move(error));
  wire::Usage none;
  proto::Event& out = *next_.add_events();
  encode(event, none, out);
  out.set_stream(stream);
  has_next_ = true;
  flush_soon();
}

void GatewayLink::drop(std::uint64_t stream, Error error) {
  erase(streams_.find(stream));
  refuse(stream, std::move(error));
}

void GatewayLink::erase(Streams::iterator stream) {
  if (stream->second.reader) (*stream->second.reader)->on_event({});
  streams_.erase(stream);
  links_.count_streams(-1);
}

void GatewayLink::drop_all() {
  while (!streams_.empty()) erase(streams_.begin());
}

void GatewayLink::news_of(std::uint64_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || std::exchange(found->second.has_news, true)) return;
  with_news_.push_back(stream);
  flush_soon();
}

// One handler of the links' thread brings all events of a step, and the posted one runs after it, so that
// they go in one message.
void GatewayLink::flush_soon() {
  if (writing_ || finished_ || std::exchange(flush_posted_, true)) return;
  asio::post(links_.io(), [&links = links_, number = number_] {
    if (GatewayLink* link = links.find(number)) link->flush();
  });
}

void GatewayLink::flush() {
  flush_posted_ = false;
  if (writing_ || finished_ || window_ == 0) return;
  out_.Clear();
  if (has_next_) out_.Swap(&next_);
  const bool had_next = std::exchange(has_next_, false);
  num_pending_hashes_ = 0;
  take_events();
  const Clock::time_point now = Clock::now();
  if (report_due_ || (out_.events_size() > 0 && now - reported_ >= links_.options().report_every))
    fill_report(now);
  if (!had_next && out_.events_size() == 0 && !out_.has_report()) {
    if (closing_) finish(grpc::Status::OK);
    return;
  }
  if (out_.events_size() > 0) links_.count_message(out_.events_size());
  writing_ = true;
  StartWrite(&out_);
}

// A stream without credit keeps its events, so that its sequence pauses once many events wait.
void GatewayLink::take_events() {
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

void GatewayLink::report(Clock::time_point now) {
  if (window_ == 0 || finished_) return;
  const wire::WorkerReport current = links_.served().worker->report();
  std::string said = fmt::format("{} {} {} {} {} {} {} {}", current.num_running, current.num_waiting,
                                 current.num_free_blocks, current.num_cached_blocks, current.failed,
                                 current.progressing, links_.draining(), links_.traffic().peers.version());
  const bool busy = current.num_running + current.num_waiting > 0;
  if (!busy && said == last_report_ && now - reported_ < links_.options().idle_report_every) return;
  last_report_ = std::move(said);
  report_due_ = true;
  flush_soon();
}

void GatewayLink::fill_report(Clock::time_point now) {
  proto::Report& report = *out_.mutable_report();
  encode(links_.served().worker->prospect(), report);
  wire::WorkerReport current = links_.served().worker->report();
  current.kv_links = links_.traffic().peers.links();
  encode(current, report);
  report.set_draining(links_.draining());
  report.set_last_stream(last_stream_);
  report.set_now_s(base::seconds(Clock::now().time_since_epoch()));
  reported_ = now;
  report_due_ = false;
}

void GatewayLink::add_blocks(const wire::BlockChanges& changes) {
  if (!watches_blocks_ || finished_ || (awaits_anew_ && !changes.anew)) return;
  if (changes.anew) {
    next_.clear_blocks();
    num_pending_hashes_ = 0;
  }
  awaits_anew_ = false;
  num_pending_hashes_ += changes.added.size() + changes.removed.size();
  if (!changes.anew && num_pending_hashes_ > kMostPendingHashes) {
    next_.clear_blocks();
    awaits_anew_ = true;  // the next tick asks for all blocks
    return;
  }
  encode(changes, *next_.add_blocks());
  has_next_ = true;
  flush_soon();
}

void GatewayLink::written(bool ok) {
  writing_ = false;
  if (!ok) return;  // the read fails too, and ends the link
  flush();
}

void GatewayLink::close(const Error& error) {
  for (const auto& [stream, running] : streams_) refuse(stream, error);
  drop_all();
  closing_ = true;
  flush_soon();
}

void GatewayLink::finish(const grpc::Status& status) {
  if (std::exchange(finished_, true)) return;
  drop_all();
  Finish(status);
}

}  // namespace kvasir::remote
