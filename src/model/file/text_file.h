#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/file/mapped_file.h"

// The files of a model directory that are text: at most 64 MiB each, `not_found` where one is not there.
namespace kvasir::model {

base::Result<MappedFile> open_text(const std::filesystem::path& path);
// Lives as long as the file.
std::string_view text_of(const MappedFile& file);
// Empty where it is not there.
base::Result<std::string> read_text_if_there(const std::filesystem::path& path);

base::Result<base::json::value> read_json_value(const std::filesystem::path& path);
base::Result<base::json::object> read_json_file(const std::filesystem::path& path);

}  // namespace kvasir::model
