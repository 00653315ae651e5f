#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::api {

struct FormPart {
  std::string name;
  std::string filename;  // empty: a plain field
  std::string contents;
};

// Splits a multipart/form-data body into its parts (RFC 7578).
base::Result<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body);

}  // namespace kvasir::api
