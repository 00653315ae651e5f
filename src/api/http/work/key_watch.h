#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/http/service/service.h"
#include "base/result.h"
#include "tenancy/runs.h"

namespace kvasir::api {

// Notices that a request has to end: its key is no longer valid, or a caller with the right to do so cancels
// the request or its stream. Lives on the exchange's executor.
class KeyWatch {
 public:
  KeyWatch(Service& service, Exchange& exchange);
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  // After this, the stream of this id can be cancelled too; see cancel_runs.
  void add_stream(const std::string& id);

  bool ended() const { return state_->why.has_value(); }
  // Why the request has to end. Call it only if `ended`.
  const base::Error& why() const { return *state_->why; }
  // Sets what is called, once and on the executor, at the end; at once if the end was already noticed.
  // Replaces the previous callback; empty: none.
  void on_end(std::function<void()> told);

 private:
  struct State {
    std::optional<base::Error> why;
    std::function<void()> told;
  };
  // `why` makes the error only when it is needed, which is rare.
  std::function<void()> end_with(base::Error (*why)()) const;

  std::shared_ptr<State> state_ = std::make_shared<State>();  // touched on the executor only
  tenancy::Runs& cancellable_;
  const boost::asio::any_io_executor executor_;
  tenancy::Runs::Run by_key_;
  tenancy::Runs::Run by_request_;
  tenancy::Runs::Run by_stream_;
};

// Ends everything that runs under the id of a request or of a stream.
void cancel_runs(Service& service, const std::string& id);

}  // namespace kvasir::api
