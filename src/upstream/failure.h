#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace kvasir::upstream {

// The reason of errors that are an upstream's fault: clients get them with the status 502.
inline constexpr std::string_view kUpstreamFailed = "upstream_failed";

// How one request to a member failed, and what follows.
struct Failure {
  enum class Says : std::uint8_t {
    nothing,  // of the member: the request was wrong
    busy,     // the member asked to be left alone for `pause`
    failed,
    useless,  // the member can serve nobody: a wrong key, a model that it does not have
  };
  base::Error error;  // for the client; names the upstream, and neither its address nor its key
  Says says = Says::failed;
  bool may_retry = true;  // another member may do better
  base::Duration pause{};
  std::string detail = {};  // for the log
};

// An answer that is not a 200. `body` is the beginning of it, `retry_after` the header.
Failure failure_of_status(const std::string& label, int status, std::string_view body,
                          std::string_view retry_after);
// An exchange that broke off; `error` is the connection's.
Failure failure_of_exchange(const std::string& label, const base::Error& error);
// It sent something that is no answer.
Failure failure_of_answer(const std::string& label, std::string what);
// Nothing came within the time.
Failure failure_of_silence(const std::string& label, double seconds);

}  // namespace kvasir::upstream
