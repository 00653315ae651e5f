#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "api/http/service.h"
#include "base/result.h"
#include "tenancy/runs.h"

namespace kvasir::api {

// Hears that the key which a request came with is over. Without a key it never is. Lives on the exchange's
// executor.
class KeyWatch {
 public:
  KeyWatch(Service& service, Exchange& exchange);
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  bool ended() const { return state_->ended; }
  // Called once, on the executor: at once where it has ended. Replaces what was to be called; empty: nothing.
  void on_end(std::function<void()> told);

 private:
  struct State {
    bool ended = false;
    std::function<void()> told;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();  // touched on the executor only
  tenancy::Runs::Run run_;
};

// For whoever still waits for an answer.
base::Error key_ended();

}  // namespace kvasir::api
