#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "remote/peer.h"
#include "remote/text_assets.h"
#include "seam/embed_client.h"
#include "seam/worker_client.h"
#include "wire/worker_card.h"

namespace kvasir::remote {

class EmbedCalls;
class WorkerConnection;

// A worker in another process, over gRPC. It connects and reconnects by itself while it lives, and notices
// within 5 s that a peer is gone or hangs. When the connection is lost, each of its streams ends with an
// `unavailable` error whose reason is `worker_lost`. Requests without a connection get the same error.
// Thread-safe; not destroyed by its own callbacks.
class RemoteWorker final : public seam::WorkerClient {
 public:
  struct Options {
    std::string id;       // in the fleet
    std::string address;  // HOST:PORT
    std::string gateway;  // the name of this process
    PeerOptions peer;
    int window_tokens = 1024;  // tokens that a stream may be ahead of its reader
    base::Duration ping_every = std::chrono::seconds(2);
    base::Duration ping_timeout = std::chrono::milliseconds(2500);
    base::Duration first_retry = std::chrono::milliseconds(50);  // doubles up to the last one
    base::Duration last_retry = std::chrono::seconds(1);
    // Which weights and text the worker must have; empty: those of the first connection.
    std::string fingerprint;
    std::string text_digest;
  };
  enum class Link : std::uint8_t {
    connecting,
    ready,
    refused,  // the peer has other weights, another tokenizer or another protocol
  };
  struct Standing {
    Link link = Link::connecting;
    std::string reason;                    // why it is not ready
    std::optional<wire::WorkerCard> card;  // of the last connection
    bool draining = false;                 // the worker takes no new requests
  };
  // Called whenever the standing changes, on any thread, one call at a time. Must not block.
  using OnStanding = std::function<void(const Standing&)>;

  // `timers` runs the waits between attempts; its context outlives the worker.
  static base::Result<std::shared_ptr<RemoteWorker>> create(Options options,
                                                            boost::asio::any_io_executor timers,
                                                            OnStanding on_standing = {});
  // Waits until the connection has ended.
  ~RemoteWorker() override;

  base::Result<seam::TokenReader> generate(wire::GenerateRequest request,
                                           boost::asio::any_io_executor reader) override;
  // Computed in this process, from the worker's last report and the requests sent to it since.
  wire::Forecast forecast(const wire::Outline& outline) const override;
  seam::Prospect prospect() const override;
  wire::WorkerReport report() const override;
  // Returns the worker's answer to the previous call, and asks it again.
  wire::Activity activity(std::uint64_t after_step) override;
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override;

  // Only for a worker whose card names the dimensions of vectors; see seam::EmbedClient.
  base::Status embed(wire::EmbedRequest request, seam::EmbedClient::Done done);

  Standing standing() const;
  // Ends the connection and its streams for good, and waits until they have ended. The destructor does the
  // same.
  void stop();
  // Makes a separate call and waits for the answer.
  base::Result<TextAssets> read_text(base::Duration timeout = std::chrono::seconds(60));
  // Asks the worker to take no new requests.
  base::Status drain(base::Duration timeout = std::chrono::seconds(5));

 private:
  explicit RemoteWorker(std::shared_ptr<WorkerConnection> connection);

  const std::shared_ptr<WorkerConnection> connection_;
  const std::unique_ptr<EmbedCalls> embeds_;
};

}  // namespace kvasir::remote
