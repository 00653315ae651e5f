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

// Why blocks that were to come did not.
enum class KvFailure : std::uint8_t {
  refused,    // the other worker has something else, or is full
  lost,       // it is gone, hangs, or its engine failed
  corrupt,    // a block was not what was asked for
  late,       // the sequence no longer waits for them: they took too long, or the client has left
  no_memory,  // there is no room for them on their way
};
inline constexpr std::array<std::string_view, 5> kKvFailureNames = {"refused", "lost", "corrupt", "late",
                                                                    "no_memory"};

// The KV that travels between this worker and others. Thread-safe.
struct KvTraffic {
  explicit KvTraffic(std::size_t most_bytes) : memory(std::make_shared<net::BodyBudget>(most_bytes)) {}

  struct Direction {
    std::atomic<std::uint64_t> num_transfers{0};  // that ended well
    std::atomic<std::uint64_t> num_bytes{0};
    std::atomic<double> seconds{0};  // from the request to the last block, of those that ended well
  };
  Direction in;
  Direction out;
  std::array<std::atomic<std::uint64_t>, kKvFailureNames.size()> failures{};  // of those that come in

  KvPeers peers;  // of those that come in

  void count(KvFailure failure) { ++failures[static_cast<std::size_t>(failure)]; }

  // Of all blocks that are on their way, in both directions.
  const std::shared_ptr<net::BodyBudget> memory;
};

}  // namespace kvasir::remote
