#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/kv_link.h"

namespace kvasir::remote {

// This worker's experience with the workers that compute prompts for it. Thread-safe.
class KvPeers {
 public:
  // The clock outlives it.
  explicit KvPeers(const base::Clock& clock = real_clock()) : clock_(clock) {}

  enum class Outcome : std::uint8_t { came, failed };
  void note(const std::string& address, Outcome outcome);

  // Blocks that came without a pause, since each was ready when the one before it was sent.
  struct Flow {
    std::uint64_t num_bytes = 0;
    double seconds = 0;
  };
  // Adds a flow to the mean time of a byte, with a weight of a quarter. Ignores flows that are too short.
  void measure(const std::string& address, const Flow& flow);

  // The links, the latest one first. A measured speed fades with time towards the assumed one, so that a
  // worker that seemed slow is asked again some time.
  std::shared_ptr<const std::vector<wire::KvLink>> links() const;
  // A number that grows with each `note`.
  std::uint64_t version() const;

 private:
  static constexpr std::size_t kMost = 64;  // beyond them the oldest is forgotten
  struct Peer {
    wire::KvLink link;
    double byte_s = 0;  // mean seconds of a byte; 0: not measured
    base::TimePoint measured{};
  };
  static const base::Clock& real_clock();
  Peer& peer_at(const std::string& address, const std::lock_guard<std::mutex>& lock);

  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::list<Peer> peers_;      // guarded by mutex_; the latest one first
  std::uint64_t version_ = 0;  // guarded by mutex_
};

}  // namespace kvasir::remote
