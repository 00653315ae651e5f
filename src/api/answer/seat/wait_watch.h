#pragma once

#include "api/answer/write/outlet.h"
#include "api/http/wait/lobby.h"

namespace kvasir::api {

// Ends a wait in the lobby when the client leaves or its key has ended. The outlet and the ticket outlive it.
class WaitWatch {
 public:
  WaitWatch(Outlet& out, Lobby::Ticket& ticket) : out_(out) {
    if (!out.resumable())
      out.exchange().responder.on_disconnect([this, &ticket] {
        has_left_ = true;
        ticket.cancel();
      });
    out.key().on_end([&ticket] { ticket.cancel(); });
  }
  ~WaitWatch() {
    out_.exchange().responder.on_disconnect({});
    out_.key().on_end({});
  }
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

  base::Status check() const {
    if (has_left_) return base::error(base::ErrorCode::cancelled, "the client left");
    if (out_.key().ended()) return out_.key().why();
    return base::ok();
  }

 private:
  Outlet& out_;
  bool has_left_ = false;
};

}  // namespace kvasir::api
