#pragma once

#include <grpcpp/grpcpp.h>
#include <kvasir.grpc.pb.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "remote/gateway_links.h"
#include "remote/grammar_slots.h"

namespace kvasir::remote {

// The connection of one gateway. gRPC calls the On... functions on its own threads; each only posts to the
// links' thread, which does everything else. The link deletes itself when its call has ended.
class GatewayLink final : public grpc::ServerBidiReactor<proto::ToWorker, proto::ToGateway> {
 public:
  using Clock = std::chrono::steady_clock;

  explicit GatewayLink(GatewayLinks& links);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void report(Clock::time_point now);
  void add_blocks(const wire::BlockChanges& changes);
  bool wants_anew() const { return watches_blocks_ && awaits_anew_; }
  // Ends every stream with `error`, and closes the connection once that is sent.
  void close(const base::Error& error);
  bool is_busy() const { return !streams_.empty(); }

 private:
  struct Running {
    std::optional<seam::TokenReader> reader;  // none while the grammar is compiled
    int credit = 0;  // tokens that may be sent before the gateway's reader takes more
    wire::Usage usage;
    bool has_news = false;
  };
  using Streams = std::unordered_map<std::uint64_t, Running>;

  void begin();
  void end();
  void take();
  base::Status take_hello();
  void take_credit(const proto::Credit& credit);
  void generate(proto::Generate&& message);
  void compile(std::uint64_t stream, wire::GenerateRequest request, const grammar::GrammarSource& source);
  void compiled(std::uint64_t stream, wire::GenerateRequest request,
                base::Result<std::shared_ptr<grammar::CompiledGrammar>> grammar);
  void start(std::uint64_t stream, wire::GenerateRequest request);
  void refuse(std::uint64_t stream, base::Error error);
  void drop(std::uint64_t stream, base::Error error);
  void erase(Streams::iterator stream);
  void drop_all();
  void news_of(std::uint64_t stream);
  void flush_soon();
  void flush();
  void take_events();
  void fill_report(Clock::time_point now);
  void written(bool ok);
  void finish(const grpc::Status& status);

  GatewayLinks& links_;
  std::uint64_t number_ = 0;
  proto::ToWorker in_;
  proto::ToGateway out_;   // while writing_: the message on its way
  proto::ToGateway next_;  // blocks, activity and refusals for the next message
  bool has_next_ = false;
  bool writing_ = false;
  bool flush_posted_ = false;
  bool closing_ = false;  // the connection is closed once everything is written
  bool finished_ = false;
  int window_ = 0;  // 0: the gateway has not introduced itself yet
  std::uint64_t last_stream_ = 0;
  Streams streams_;
  std::vector<std::uint64_t> with_news_;
  std::array<std::optional<grammar::GrammarSource>, GrammarSlots::kMost> sources_;
  bool watches_blocks_ = false;
  bool awaits_anew_ = false;
  std::size_t num_pending_hashes_ = 0;
  Clock::time_point reported_{};
  std::string last_report_;  // the last report without its times
  bool report_due_ = false;
};

}  // namespace kvasir::remote
