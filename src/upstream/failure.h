#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::upstream {

// The reason of errors that are an upstream's fault. Clients get them with the status 502.
inline constexpr std::string_view kUpstreamFailed = "upstream_failed";

// How one request to a member failed, and what follows from it.
struct Failure {
  enum class Says : std::uint8_t {
    nothing,  // about the member: the request was wrong
    busy,     // the member wants no requests for `pause`
    failed,
    useless,  // the member can serve no request: its key is wrong, or it lacks the model
  };
  base::Error error;  // for the client; names the upstream, but not its address or its key
  Says says = Says::failed;
  bool may_retry = true;  // another member may succeed
  base::Duration pause{};
  std::string detail = {};  // for the log
};

// The failure of an answer that is not a 200. `body` is its beginning, `retry_after` its header.
Failure failure_of_status(const std::string& label, int status, std::string_view body,
                          std::string_view retry_after);
// The failure of an exchange that broke off; `error` is the connection's.
Failure failure_of_exchange(const std::string& label, const base::Error& error);
// The failure of a member that sent an invalid answer.
Failure failure_of_answer(const std::string& label, std::string what);
// The failure of a member that sent nothing for `seconds`.
Failure failure_of_silence(const std::string& label, double seconds);

}  // namespace kvasir::upstream
