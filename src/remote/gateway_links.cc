#include "remote/gateway_links.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "obs/log.h"
#include "remote/gateway_link.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {

namespace asio = boost::asio;

base::Error leaving() {
  return {base::ErrorCode::unavailable, "the worker is being drained", {}, std::string(wire::kDraining), 1};
}

// Hands the worker's block changes to the links' thread.
class GatewayLinks::Blocks final : public seam::BlockSink {
 public:
  explicit Blocks(GatewayLinks& owner) : owner_(&owner) {}
  void on_blocks(wire::BlockChanges changes) override {
    const std::lock_guard lock(mutex_);
    if (owner_ == nullptr) return;
    asio::post(owner_->io_, [owner = owner_, changes = std::move(changes)] {
      for (const auto& [number, link] : owner->links_) link->add_blocks(changes);
    });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    owner_ = nullptr;
  }

 private:
  std::mutex mutex_;
  GatewayLinks* owner_;  // guarded by mutex_; null once the server ends
};

GatewayLinks::GatewayLinks(WorkerServer::Options options, WorkerServer::Served served)
    : options_(std::move(options)),
      served_(std::move(served)),
      blocks_(std::make_shared<Blocks>(*this)),
      compiling_(static_cast<std::size_t>(std::max(1, served_.max_queue))),
      thread_([this] { io_.run(); }) {
  const kv::BlockForm& form = served_.card.kv;
  if (!form.name.empty())
    fetcher_.emplace(KvFetcher::Options{options_.peer, served_.card.fingerprint, form}, served_.traffic);
}

GatewayLinks::~GatewayLinks() {
  compiling_.stop();
  work_.reset();
  io_.stop();
  thread_.join();
}

wire::GenerateRequest GatewayLinks::with_arrivals(wire::GenerateRequest request) {
  if (!request.prefill || request.num_prompt_logprobs || !fetcher_) return request;
  kv::BlockChain prompt({request.origin.cache_namespace, request.num_public_tokens});
  prompt.extend(request.prompt);
  const int num_cached = served_.worker->num_cached_blocks(prompt);
  request.arriving = fetcher_->fetch(request, prompt, static_cast<std::size_t>(num_cached));
  return request;
}

void GatewayLinks::start() {
  asio::post(io_, [this] { tick(); });
}

void GatewayLinks::close() {
  draining_ = true;
  served_.worker->watch_blocks(nullptr);
  blocks_->end();
  asio::post(io_, [this] {
    timer_.cancel();
    for (const auto& [number, link] : std::map(links_)) link->close(leaving());
  });
  std::unique_lock lock(mutex_);
  fewer_.wait_for(lock, std::chrono::seconds(1), [this] { return num_gateways_ == 0; });
}

void GatewayLinks::wait_none() {
  std::unique_lock lock(mutex_);
  fewer_.wait(lock, [this] { return num_gateways_ == 0 && num_calls_ == 0; });
}

bool GatewayLinks::wait_idle(base::Duration timeout) const {
  std::unique_lock lock(mutex_);
  return fewer_.wait_for(lock, timeout, [this] { return num_streams_ == 0; });
}

WorkerServer::Stats GatewayLinks::stats() const {
  return {num_gateways_, num_streams_, num_events_, num_messages_};
}

void GatewayLinks::opened() {
  ++num_gateways_;
}

void GatewayLinks::closed() {
  {
    const std::lock_guard lock(mutex_);
    --num_gateways_;
  }
  fewer_.notify_all();
}

void GatewayLinks::call_ended() {
  {
    const std::lock_guard lock(mutex_);
    --num_calls_;
  }
  fewer_.notify_all();
}

std::uint64_t GatewayLinks::add(GatewayLink& link) {
  links_.emplace(++last_link_, &link);
  return last_link_;
}

GatewayLink* GatewayLinks::find(std::uint64_t number) const {
  const auto found = links_.find(number);
  return found == links_.end() ? nullptr : found->second;
}

void GatewayLinks::watch_blocks() {
  served_.worker->watch_blocks(blocks_);
}

void GatewayLinks::count_streams(int by) {
  bool idle = false;
  {
    const std::lock_guard lock(mutex_);
    idle = (num_streams_ += by) == 0;
  }
  if (idle) fewer_.notify_all();
}

void GatewayLinks::count_message(int num_events) {
  num_events_ += static_cast<std::uint64_t>(num_events);
  ++num_messages_;
}

void GatewayLinks::tick() {
  const auto now = std::chrono::steady_clock::now();
  bool wants_anew = false;
  bool busy = false;
  for (const auto& [number, link] : links_) {
    link->report(now);
    wants_anew |= link->wants_anew();
    busy |= link->is_busy();
  }
  if (wants_anew) watch_blocks();
  is_quiet_ = !busy;
  tick_after(busy ? options_.report_every : options_.idle_report_every / 4);
}

void GatewayLinks::tick_after(base::Duration wait) {
  timer_.expires_after(wait);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void GatewayLinks::hurry() {
  if (std::exchange(is_quiet_, false)) tick_after(options_.report_every);
}

}  // namespace kvasir::remote
