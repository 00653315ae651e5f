#pragma once

#include <memory>
#include <vector>

#include "api/answer/delta/delta_stream.h"
#include "api/http/work/key_watch.h"

namespace kvasir::api {

// Wraps a stream so that it fails when its request has to end. The inner stream and the key watch outlive it.
// While it exists, it is the watch's only listener.
class RevocableStream final : public DeltaStream {
 public:
  RevocableStream(DeltaStream& inner, KeyWatch& key) : inner_(inner), key_(key) {
    key_.on_end([this] { revoke(); });
  }
  ~RevocableStream() override { key_.on_end({}); }
  RevocableStream(const RevocableStream&) = delete;
  RevocableStream& operator=(const RevocableStream&) = delete;

  boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) override {
    base::Result<std::vector<Delta>> deltas = co_await inner_.next(wait);
    if (!revoked_) co_return deltas;
    told_ = true;
    co_return key_.why();
  }
  // A revoked stream is over only after `next` has returned the reason.
  bool over() const override { return revoked_ ? told_ : inner_.over(); }
  void cancel() override { inner_.cancel(); }
  bool cancelled() const override { return !revoked_ && inner_.cancelled(); }
  wire::Usage usage() const override { return inner_.usage(); }
  int num_choices() const override { return inner_.num_choices(); }

 private:
  void revoke() {
    if (inner_.over()) return;
    revoked_ = true;
    inner_.cancel();
  }

  DeltaStream& inner_;
  KeyWatch& key_;
  bool revoked_ = false;
  bool told_ = false;
};

}  // namespace kvasir::api
