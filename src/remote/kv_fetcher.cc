#include "remote/kv_fetcher.h"

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "obs/log.h"
#include "remote/codec.h"
#include "remote/grpc_peer.h"

namespace kvasir::remote {

namespace {

// Most connections kept. Beyond them all are dropped, and opened again when needed.
constexpr std::size_t kMostPeers = 64;

using Clock = std::chrono::steady_clock;

}  // namespace

struct KvFetcher::Peer {
  explicit Peer(const ChannelOptions& options)
      : address(options.address), stub(proto::Worker::NewStub(open_channel(options))) {}
  const std::string address;
  const std::unique_ptr<proto::Worker::Stub> stub;
};

// The state that calls share, which may outlive the fetcher.
struct KvFetcher::Shared {
  explicit Shared(std::shared_ptr<KvTraffic> traffic_in) : traffic(std::move(traffic_in)) {}
  const std::shared_ptr<KvTraffic> traffic;
  std::mutex mutex;
  std::condition_variable fewer;
  std::uint64_t last_fetch = 0;                           // guarded by mutex
  std::map<std::uint64_t, std::weak_ptr<Fetch>> fetches;  // guarded by mutex; running fetches by number
};

// One call. It owns itself until it has ended.
class KvFetcher::Fetch final : public grpc::ClientReadReactor<proto::KvBlock>,
                               public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(std::shared_ptr<Shared> shared, std::shared_ptr<Peer> peer, std::shared_ptr<net::BodyShare> memory,
        std::size_t block_bytes)
      : shared_(std::move(shared)),
        peer_(std::move(peer)),
        memory_(std::move(memory)),
        block_bytes_(block_bytes) {}

  // `hashes` belong to the wanted blocks, from block `first` on.
  std::shared_ptr<kv::ArrivingBlocks> start(proto::PrefillRequest request, std::size_t first,
                                            std::vector<kv::BlockHash> hashes, double patience_s) {
    request_ = std::move(request);
    patience_s_ = patience_s;
    first_ = first;
    hashes_ = std::move(hashes);
    auto arriving = std::make_shared<kv::ArrivingBlocks>(first, first + hashes_.size(), patience_s,
                                                         [weak = weak_from_this()] {
                                                           if (const auto self = weak.lock()) self->cancel();
                                                         });
    arriving_ = arriving;
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::milliseconds(static_cast<std::int64_t>(patience_s * 1e3) + 1));
    self_ = shared_from_this();
    {
      const std::lock_guard lock(shared_->mutex);
      number_ = ++shared_->last_fetch;
      shared_->fetches.emplace(number_, self_);
    }
    peer_->stub->async()->Prefill(&context_, &request_, this);
    StartRead(&in_);
    StartCall();
    return arriving;
  }
  void cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    if (take())
      StartRead(&in_);
    else
      cancel();
  }
  void OnDone(const grpc::Status& status) override {
    count(status);
    if (const auto arriving = arriving_.lock()) arriving->close();
    // The fetch is destroyed before the fetcher learns of its end: the last gRPC object must not be freed on
    // a gRPC thread.
    const auto shared = shared_;
    const std::uint64_t number = number_;
    std::exchange(self_, nullptr).reset();
    const std::lock_guard lock(shared->mutex);
    shared->fetches.erase(number);
    shared->fewer.notify_all();
  }

 private:
  // A block with the memory that was reserved for it.
  struct Held {
    std::shared_ptr<net::BodyShare> memory;
    kv::BlockImage image;
  };

  // False: no sequence waits any more, or the block is not the wanted one.
  bool take() {
    const auto arriving = arriving_.lock();
    if (!arriving) return false;
    auto held =
        std::make_shared<Held>(memory_, kv::BlockImage{std::move(*in_.mutable_data()), in_.checksum()});
    const bool fits = next_ < hashes_.size() && in_.index() >= 0 &&
                      static_cast<std::size_t>(in_.index()) == first_ + next_ &&
                      held->image.bytes.size() == block_bytes_;
    if (!fits || !kv::is_intact(held->image, hashes_[next_])) {
      is_corrupt_ = true;
      return false;
    }
    ++next_;
    const Clock::time_point now = Clock::now();
    if (in_.follows()) {
      flow_.num_bytes += held->image.bytes.size();
      flow_.seconds += base::seconds(now - came_);
    }
    came_ = now;
    shared_->traffic->in.num_bytes += held->image.bytes.size();
    arriving->add({held, &held->image});
    return true;
  }

  void count(const grpc::Status& status) {
    KvTraffic& traffic = *shared_->traffic;
    traffic.peers.measure(peer_->address, flow_);
    if (next_ == hashes_.size() && !is_corrupt_) {
      ++traffic.in.num_transfers;
      traffic.in.seconds += base::seconds(Clock::now() - began_);
      traffic.peers.note(peer_->address, KvPeers::Outcome::came);
      return;
    }
    const KvFailure failure = failure_of(status);
    traffic.count(failure);
    // If the client left, the other worker is not to blame.
    const bool waited = base::seconds(Clock::now() - began_) >= patience_s_;
    if (failure != KvFailure::late || waited) traffic.peers.note(peer_->address, KvPeers::Outcome::failed);
    obs::Log::warn("kv_did_not_come", {{"id", request_.origin().request_id()},
                                       {"why", kKvFailureNames[static_cast<std::size_t>(failure)]},
                                       {"reason", status.error_message()},
                                       {"blocks", next_},
                                       {"of_blocks", hashes_.size()}});
  }

  KvFailure failure_of(const grpc::Status& status) const {
    if (is_corrupt_) return KvFailure::corrupt;
    switch (status.error_code()) {
      case grpc::StatusCode::FAILED_PRECONDITION:
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
      case grpc::StatusCode::UNIMPLEMENTED:
        return KvFailure::refused;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
      case grpc::StatusCode::CANCELLED:
        return KvFailure::late;
      default:
        return KvFailure::lost;
    }
  }

  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<Peer> peer_;
  const std::shared_ptr<net::BodyShare> memory_;
  const std::size_t block_bytes_;
  const Clock::time_point began_ = Clock::now();
  std::shared_ptr<Fetch> self_;
  std::uint64_t number_ = 0;
  grpc::ClientContext context_;
  proto::PrefillRequest request_;
  proto::KvBlock in_;
  std::weak_ptr<kv::ArrivingBlocks> arriving_;
  std::size_t first_ = 0;
  std::vector<kv::BlockHash> hashes_;
  double patience_s_ = 0;
  std::size_t next_ = 0;      // number of blocks that have come
  Clock::time_point came_{};  // when the latest block came
  KvPeers::Flow flow_;
  bool is_corrupt_ = false;
};

KvFetcher::KvFetcher(Options options, std::shared_ptr<KvTraffic> traffic)
    : options_(std::move(options)), shared_(std::make_shared<Shared>(std::move(traffic))) {}

KvFetcher::~KvFetcher() {
  std::vector<std::shared_ptr<Fetch>> under_way;
  std::unique_lock lock(shared_->mutex);
  for (const auto& [number, fetch] : shared_->fetches) under_way.push_back(fetch.lock());
  lock.unlock();
  for (const auto& fetch : under_way)
    if (fetch) fetch->cancel();
  under_way.clear();
  lock.lock();
  shared_->fewer.wait(lock, [this] { return shared_->fetches.empty(); });
}

std::shared_ptr<KvFetcher::Peer> KvFetcher::peer_at(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (const auto found = peers_.find(address); found != peers_.end()) return found->second;
  if (peers_.size() >= kMostPeers) peers_.clear();
  auto peer = std::make_shared<Peer>(ChannelOptions{.address = address, .peer = options_.peer});
  peers_.emplace(address, peer);
  return peer;
}

std::shared_ptr<kv::ArrivingBlocks> KvFetcher::fetch(const wire::GenerateRequest& request,
                                                     const kv::BlockChain& prompt, std::size_t num_cached) {
  const std::size_t end = (request.prompt.size() - 1) / kv::kBlockTokens;
  if (end <= num_cached) return nullptr;
  if (const base::Status status = check_address(request.prefill->address, options_.peer); !status.ok()) {
    obs::Log::warn("kv_not_asked_for", {{"reason", status.error().message}});
    shared_->traffic->count(KvFailure::refused);
    shared_->traffic->peers.note(request.prefill->address, KvPeers::Outcome::failed);
    return nullptr;
  }
  auto memory = std::make_shared<net::BodyShare>(shared_->traffic->memory);
  if (!memory->cover((end - num_cached) * options_.form.num_bytes)) {
    shared_->traffic->count(KvFailure::no_memory);
    return nullptr;
  }
  proto::PrefillRequest message;
  encode(request, static_cast<int>(end), message);
  message.set_fingerprint(options_.fingerprint);
  message.set_kv_form(options_.form.name);
  message.set_first_block(static_cast<int>(num_cached));
  const auto hashes = prompt.hashes().subspan(num_cached, end - num_cached);
  auto fetch = std::make_shared<Fetch>(shared_, peer_at(request.prefill->address), std::move(memory),
                                       options_.form.num_bytes);
  return fetch->start(std::move(message), num_cached, {hashes.begin(), hashes.end()},
                      request.prefill->patience_s);
}

}  // namespace kvasir::remote
