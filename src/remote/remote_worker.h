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

// A worker in another process, over gRPC. It connects by itself, again and again while it lives, and finds a
// peer that is gone or hangs within 5 s. With the connection go its streams: each ends with an `unavailable`
// error whose reason is `worker_lost`, and the same answers requests while there is none. Thread-safe; not
// destroyed by its own callbacks.
class RemoteWorker final : public seam::WorkerClient {
 public:
  struct Options {
    std::string id;       // in the fleet
    std::string address;  // HOST:PORT
    std::string gateway;  // the name of this process
    PeerOptions peer;
    int window_tokens = 1024;  // that a stream may be ahead of its reader
    base::Duration ping_every = std::chrono::seconds(2);
    base::Duration ping_timeout = std::chrono::milliseconds(2500);
    base::Duration first_retry = std::chrono::milliseconds(50);  // doubles up to the last one
    base::Duration last_retry = std::chrono::seconds(1);
    // What the worker must hold; empty: the first one decides.
    std::string fingerprint;
    std::string text_digest;
  };
  enum class Link : std::uint8_t {
    connecting,
    ready,
    refused,  // somebody else is there: other weights, another tokenizer, another protocol
  };
  struct Standing {
    Link link = Link::connecting;
    std::string reason;                    // why it is not ready
    std::optional<wire::WorkerCard> card;  // of the last connection
    bool draining = false;                 // it takes no new requests
  };
  // Called whenever the standing changes, on any thread, one call at a time. Must not wait.
  using OnStanding = std::function<void(const Standing&)>;

  // `timers` runs the waits between attempts; its context outlives the worker.
  static base::Result<std::shared_ptr<RemoteWorker>> create(Options options,
                                                            boost::asio::any_io_executor timers,
                                                            OnStanding on_standing = {});
  // Waits until the connection has ended.
  ~RemoteWorker() override;

  base::Result<seam::TokenReader> generate(wire::GenerateRequest request,
                                           boost::asio::any_io_executor reader) override;
  // Made here, from the worker's last report and what has been sent to it since.
  wire::Forecast forecast(const wire::Outline& outline) const override;
  seam::Prospect prospect() const override;
  wire::WorkerReport report() const override;
  // What the worker answered to the call before this one; this call asks it again.
  wire::Activity activity(std::uint64_t after_step) override;
  void watch_blocks(std::shared_ptr<seam::BlockSink> sink) override;

  // Where the card names the dimensions of vectors; see seam::EmbedClient.
  base::Status embed(wire::EmbedRequest request, seam::EmbedClient::Done done);

  Standing standing() const;
  // Ends the connection and its streams for good, and waits for that. The destructor does the same.
  void stop();
  // A call of its own, which waits for the answer.
  base::Result<TextAssets> read_text(base::Duration timeout = std::chrono::seconds(60));
  // Asks it to take no new requests.
  base::Status drain(base::Duration timeout = std::chrono::seconds(5));

 private:
  explicit RemoteWorker(std::shared_ptr<WorkerConnection> connection);

  const std::shared_ptr<WorkerConnection> connection_;
  const std::unique_ptr<EmbedCalls> embeds_;
};

}  // namespace kvasir::remote
