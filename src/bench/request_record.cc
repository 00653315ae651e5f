#include "bench/request_record.h"

#include <fmt/format.h>

namespace kvasir::bench {

std::string kind_of(const RequestRecord& record) {
  switch (record.failure) {
    case Failure::none:
      return "ok";
    case Failure::connect:
      return "connect";
    case Failure::refused:
      return fmt::format("http {}", record.http_status);
    case Failure::timeout:
      return "timeout";
    case Failure::cut:
      return "cut";
    case Failure::error_event:
      return "error event";
    case Failure::malformed:
      return "malformed";
    case Failure::empty:
      return "empty";
  }
  return "?";
}

}  // namespace kvasir::bench
