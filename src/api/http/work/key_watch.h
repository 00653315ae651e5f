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

// Hears that a request has to end: the key that it came with is over, or somebody who may cancels the request
// or its stream. Lives on the exchange's executor.
class KeyWatch {
 public:
  KeyWatch(Service& service, Exchange& exchange);
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  // From now on the stream of this id can be cancelled, see cancel_runs.
  void add_stream(const std::string& id);

  bool ended() const { return state_->why.has_value(); }
  // Why it has to end. It must have ended.
  const base::Error& why() const { return *state_->why; }
  // Called once, on the executor: at once where it has ended. Replaces what was to be called; empty: nothing.
  void on_end(std::function<void()> told);

 private:
  struct State {
    std::optional<base::Error> why;
    std::function<void()> told;
  };
  // `why` makes the error, which hardly any request needs.
  std::function<void()> end_with(base::Error (*why)()) const;

  std::shared_ptr<State> state_ = std::make_shared<State>();  // touched on the executor only
  tenancy::Runs& cancellable_;
  const boost::asio::any_io_executor executor_;
  tenancy::Runs::Run by_key_;
  tenancy::Runs::Run by_request_;
  tenancy::Runs::Run by_stream_;
};

// Ends what runs under the id of a request or of a stream.
void cancel_runs(Service& service, const std::string& id);

}  // namespace kvasir::api
