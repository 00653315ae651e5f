#pragma once

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "remote/gateway_links.h"
#include "remote/kv_traffic.h"

namespace kvasir::remote {

// Another worker's call for the KV of a prompt: the prompt is computed as a request, and each block is sent
// as soon as it is computed. gRPC calls the On... functions on its own threads; each only posts to the links'
// thread, which does everything else. The object owns itself until the call has ended.
class PrefillCall final : public grpc::ServerWriteReactor<proto::KvBlock>,
                          public std::enable_shared_from_this<PrefillCall> {
 public:
  static grpc::ServerWriteReactor<proto::KvBlock>* answer(GatewayLinks& links,
                                                          const proto::PrefillRequest& request);
  explicit PrefillCall(GatewayLinks& links) : links_(links) {}

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  class Outlet;
  struct Block {
    std::size_t index = 0;
    kv::BlockImage image;
  };

  void begin(const proto::PrefillRequest& request);
  base::Result<wire::GenerateRequest> check(const proto::PrefillRequest& request) const;
  void put(Block block);
  void heed_reader();
  enum class Since : std::uint8_t { computed, written };
  void write_next(Since since);
  void written();
  void finish(const grpc::Status& status);

  GatewayLinks& links_;
  std::shared_ptr<PrefillCall> self_;
  // The following members are touched on the links' thread.
  std::optional<net::BodyShare> memory_;
  std::optional<seam::TokenReader> reader_;
  std::deque<Block> blocks_;  // computed, but not written
  proto::KvBlock out_;        // while writing_: the block on its way
  bool writing_ = false;
  std::size_t num_left_ = 0;  // blocks to write
  bool finished_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace kvasir::remote
