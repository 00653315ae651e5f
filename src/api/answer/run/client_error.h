#pragma once

#include "base/result.h"

namespace kvasir::api {

// Rewords a worker's error for the client. A worker reports a sequence that cannot fit as too large; the
// client is told that its prompt is too long or its grammar too complex.
base::Error as_client_error(base::Error error);

}  // namespace kvasir::api
