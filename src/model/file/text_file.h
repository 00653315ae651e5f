#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/file/mapped_file.h"

// Reads the text files of a model directory, which may have 64 MiB each. Fails with `not_found` if a file
// does not exist.
namespace kvasir::model {

base::Result<MappedFile> open_text(const std::filesystem::path& path);
// The view is valid as long as `file`.
std::string_view text_of(const MappedFile& file);
// Returns an empty string if the file does not exist.
base::Result<std::string> read_text_if_there(const std::filesystem::path& path);

base::Result<base::json::value> read_json_value(const std::filesystem::path& path);
base::Result<base::json::object> read_json_file(const std::filesystem::path& path);

}  // namespace kvasir::model
