#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::fleet {

// Standard base64 with padding, as JSON carries bytes.
std::string encode_base64(std::string_view bytes);
base::Result<std::string> decode_base64(std::string_view text);

}  // namespace kvasir::fleet
