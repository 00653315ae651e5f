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

// What this worker has seen of the others that compute prompts for it. Thread-safe.
class KvPeers {
 public:
  // The clock outlives it.
  explicit KvPeers(const base::Clock& clock = real_clock()) : clock_(clock) {}

  enum class Outcome : std::uint8_t { came, failed };
  void note(const std::string& address, Outcome outcome);

  // Blocks that came one right after the other, since each was ready when the one before it was sent.
  struct Flow {
    std::uint64_t num_bytes = 0;
    double seconds = 0;
  };
  // Counts for a quarter in the mean time of a byte. Too short a flow says nothing.
  void measure(const std::string& address, const Flow& flow);

  // The latest one first. A speed that was measured long ago is forgotten little by little: whoever seemed
  // slow is asked again some time.
  std::shared_ptr<const std::vector<wire::KvLink>> links() const;
  // Grows with each note.
  std::uint64_t version() const;

 private:
  static constexpr std::size_t kMost = 64;  // beyond them the one that was noted longest ago is forgotten
  struct Peer {
    wire::KvLink link;
    double byte_s = 0;  // the mean; 0: not measured
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
