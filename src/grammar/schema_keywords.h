#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "grammar/notes.h"

namespace kvasir::grammar {

// Fails on the first keyword of a schema object that changes which values are valid and that is not enforced.
// Adds to `notes` what is ignored: unknown keywords and formats, which are annotations.
base::Status check_keywords(const base::json::object& schema, const std::string& path, Notes& notes);

}  // namespace kvasir::grammar
