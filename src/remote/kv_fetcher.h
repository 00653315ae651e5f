#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kv/arriving_blocks.h"
#include "remote/kv_traffic.h"
#include "remote/peer.h"
#include "wire/generate_request.h"

namespace kvasir::remote {

// Fetches the KV of prompts from the workers that compute it. Thread-safe.
class KvFetcher {
 public:
  struct Options {
    PeerOptions peer;
    std::string fingerprint;  // that the other worker must have
    kv::BlockForm form;
  };

  KvFetcher(Options options, std::shared_ptr<KvTraffic> traffic);
  // Ends the running fetches, and waits until they have ended.
  ~KvFetcher();

  // Asks the worker that `request.prefill` names for the prompt's blocks after the first `num_cached`, except
  // the one with the last token. Null: there is nothing to ask for, or no memory.
  std::shared_ptr<kv::ArrivingBlocks> fetch(const wire::GenerateRequest& request,
                                            const kv::BlockChain& prompt, std::size_t num_cached);

 private:
  struct Shared;
  struct Peer;
  class Fetch;
  std::shared_ptr<Peer> peer_at(const std::string& address);

  const Options options_;
  const std::shared_ptr<Shared> shared_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;  // guarded by mutex_; by address
};

}  // namespace kvasir::remote
