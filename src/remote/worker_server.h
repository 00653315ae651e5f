#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "grammar/grammar_compiler.h"
#include "remote/kv_traffic.h"
#include "remote/peer.h"
#include "remote/text_assets.h"
#include "seam/embed_client.h"
#include "seam/worker_client.h"
#include "wire/worker_card.h"

namespace kvasir::remote {

// Serves a worker to gateways over gRPC. It has one thread that reads the worker's streams and writes to the
// gateways, and another that compiles grammars. Created, drained and destroyed by one thread.
class WorkerServer {
 public:
  struct Options {
    std::string listen;  // HOST:PORT; port 0: any
    PeerOptions peer;
    base::Duration report_every = std::chrono::milliseconds(50);  // while something changes
    base::Duration idle_report_every = std::chrono::seconds(1);
    std::function<void()> on_drain;  // called when a gateway or an operator asks to drain; on any thread
  };
  struct Served {
    std::shared_ptr<seam::WorkerClient> worker;
    std::shared_ptr<seam::EmbedClient> embedder =
        nullptr;  // set instead of `worker` for a worker that makes vectors
    // The server fills in the address from `listen`, the digest of `text` and the worker's form of KV.
    wire::WorkerCard card;
    int max_queue = 0;  // sequences that may wait
    std::shared_ptr<grammar::GrammarCompiler> grammars;
    TextAssets text;
    std::shared_ptr<KvTraffic> traffic = std::make_shared<KvTraffic>(0);  // never null
  };

  static base::Result<std::unique_ptr<WorkerServer>> start(Options options, Served served);
  // Ends the streams that still run with `server_draining`, so that gateways continue them on other workers.
  ~WorkerServer();

  int port() const;
  const wire::WorkerCard& card() const;
  // Refuses new requests from now on, with `server_draining`.
  void drain();
  // False: some streams still run after the timeout.
  bool wait_idle(base::Duration timeout) const;

  struct Stats {
    int num_gateways = 0;
    int num_streams = 0;
    std::uint64_t num_events = 0;    // since the start
    std::uint64_t num_messages = 0;  // messages with events
  };
  Stats stats() const;

 private:
  class Impl;
  explicit WorkerServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace kvasir::remote
