#include "api/answer/run/client_error.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;

Error as_client_error(Error error) {
  if (error.code != ErrorCode::too_large) return error;
  error.code = ErrorCode::invalid_argument;
  if (error.reason.empty()) error.reason = "context_length_exceeded";
  return error;
}

}  // namespace kvasir::api
