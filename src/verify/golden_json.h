#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"

namespace kvasir::verify {

// Read fields of a golden file. A field that is absent or of another kind is an error that names the field.
base::Result<const base::json::array*> golden_array(const base::json::value& object, std::string_view key);
base::Result<std::string> golden_string(const base::json::value& object, std::string_view key);
base::Result<double> golden_number(const base::json::value& object, std::string_view key);
base::Result<TokenId> golden_token(const base::json::value& object, std::string_view key);
base::Result<std::vector<TokenId>> golden_tokens(const base::json::value& object, std::string_view key);
base::Result<std::vector<double>> golden_numbers(const base::json::value& object, std::string_view key);

}  // namespace kvasir::verify
