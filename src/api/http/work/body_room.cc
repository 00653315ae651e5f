#include "api/http/work/body_room.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;

base::Status count_text(const std::shared_ptr<net::BodyShare>& hold, std::size_t num_bytes) {
  if (hold == nullptr || hold->add(num_bytes)) return base::ok();
  return bodies_overloaded();
}

Error bodies_overloaded() {
  return {.code = ErrorCode::unavailable,
          .message = "the bodies of all requests take all the memory that they may; try again",
          .reason = "server_overloaded",
          .retry_after_s = 1};
}

}  // namespace kvasir::api
