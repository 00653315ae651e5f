#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "net/body_budget.h"
#include "remote/kv_peers.h"

namespace kvasir::remote {

// Why expected blocks did not come.
enum class KvFailure : std::uint8_t {
  refused,    // the other worker has another model or form of KV, or is full
  lost,       // the other worker is gone or hangs, or its engine failed
  corrupt,    // a block was not the wanted one
  late,       // the sequence no longer waits: the blocks took too long, or the client left
  no_memory,  // there is no memory for blocks on their way
};
inline constexpr std::array<std::string_view, 5> kKvFailureNames = {"refused", "lost", "corrupt", "late",
                                                                    "no_memory"};

// The KV that travels between this worker and others. Thread-safe.
struct KvTraffic {
  explicit KvTraffic(std::size_t most_bytes) : memory(std::make_shared<net::BodyBudget>(most_bytes)) {}

  struct Direction {
    std::atomic<std::uint64_t> num_transfers{0};  // that ended well
    std::atomic<std::uint64_t> num_bytes{0};
    std::atomic<double> seconds{0};  // from the request to the last block, of transfers that ended well
  };
  Direction in;
  Direction out;
  std::array<std::atomic<std::uint64_t>, kKvFailureNames.size()> failures{};  // of incoming transfers

  KvPeers peers;  // of incoming transfers

  void count(KvFailure failure) { ++failures[static_cast<std::size_t>(failure)]; }

  // The memory of all blocks on their way, in both directions.
  const std::shared_ptr<net::BodyBudget> memory;
};

}  // namespace kvasir::remote
