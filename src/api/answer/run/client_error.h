#pragma once

#include "base/result.h"

namespace kvasir::api {

// A worker reports a sequence that cannot fit as a lack of memory. The client is told that its prompt is too
// long, or its grammar too complex.
base::Error as_client_error(base::Error error);

}  // namespace kvasir::api
