#include "remote/kv_peers.h"

#include <algorithm>
#include <cmath>

namespace kvasir::remote {

namespace {

constexpr double kNewest = 0.25;                    // weight of a new measurement in the mean
constexpr std::uint64_t kLeastBytes = 256 << 10;    // shorter flows are not measured
constexpr double kHalfForgotten_s = 120;            // half-life of a measured speed
constexpr double kSlowest = 1e6, kFastest = 100e9;  // bytes a second
constexpr double kSupposedByte_s = 1 / wire::kSupposedBytesPerS;

}  // namespace

const base::Clock& KvPeers::real_clock() {
  static const base::RealClock clock;
  return clock;
}

KvPeers::Peer& KvPeers::peer_at(const std::string& address, const std::lock_guard<std::mutex>&) {
  const auto found =
      std::ranges::find_if(peers_, [&](const Peer& peer) { return peer.link.address == address; });
  if (found == peers_.end())
    peers_.push_front({.link = {.address = address}});
  else
    peers_.splice(peers_.begin(), peers_, found);
  if (peers_.size() > kMost) peers_.pop_back();
  return peers_.front();
}

void KvPeers::note(const std::string& address, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  wire::KvLink& link = peer_at(address, lock).link;
  link.ended_well = outcome == Outcome::came;
  ++(link.ended_well ? link.num_good : link.num_failed);
  ++version_;
}

void KvPeers::measure(const std::string& address, const Flow& flow) {
  if (flow.num_bytes < kLeastBytes) return;
  const double byte_s =
      std::clamp(flow.seconds / static_cast<double>(flow.num_bytes), 1 / kFastest, 1 / kSlowest);
  const std::lock_guard lock(mutex_);
  Peer& peer = peer_at(address, lock);
  const base::TimePoint now = clock_.now();
  const bool is_known = peer.byte_s > 0 && base::seconds(now - peer.measured) < kHalfForgotten_s;
  peer.byte_s = is_known ? peer.byte_s + kNewest * (byte_s - peer.byte_s) : byte_s;
  peer.measured = now;
}

std::shared_ptr<const std::vector<wire::KvLink>> KvPeers::links() const {
  auto links = std::make_shared<std::vector<wire::KvLink>>();
  const std::lock_guard lock(mutex_);
  const base::TimePoint now = clock_.now();
  for (const Peer& peer : peers_) {
    wire::KvLink& link = links->emplace_back(peer.link);
    if (peer.byte_s <= 0) continue;
    const double known = std::exp2(-base::seconds(now - peer.measured) / kHalfForgotten_s);
    link.bytes_per_s = 1 / (known * peer.byte_s + (1 - known) * kSupposedByte_s);
  }
  return links;
}

std::uint64_t KvPeers::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

}  // namespace kvasir::remote
