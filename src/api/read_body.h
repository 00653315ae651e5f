#pragma once

#include <string_view>

#include "api/respond.h"

namespace kvasir::api {

// The bodies of POST /v1/chat/completions and POST /v1/completions.
base::Result<ReadRequest> read_chat_body(Service& service, std::string_view body);
base::Result<ReadRequest> read_completion_body(Service& service, std::string_view body);

}  // namespace kvasir::api
