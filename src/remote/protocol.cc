#include "remote/protocol.h"

#include <algorithm>
#include <string>

namespace kvasir::remote {

namespace {

std::string text_of(const Protocols& range) {
  if (range.oldest == range.newest) return fmt::format("version {}", range.oldest);
  return fmt::format("versions {} to {}", range.oldest, range.newest);
}

}  // namespace

base::Status check_common(std::string_view peer, const Protocols& its, const Protocols& own) {
  if (std::max(its.oldest, own.oldest) <= std::min(its.newest, own.newest)) return base::ok();
  return base::error(base::ErrorCode::unsupported,
                     "{} speaks {} of the protocol, this build {}: they are too many releases apart", peer,
                     text_of(its), text_of(own));
}

}  // namespace kvasir::remote
