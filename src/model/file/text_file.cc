#include "model/file/text_file.h"

#include <utility>

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

}  // namespace

base::Result<MappedFile> open_text(const std::filesystem::path& path) {
  TRY(MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > kMaxTextBytes)
    return base::error(ErrorCode::too_large, "{}: {} bytes of text", path.string(), file.bytes().size());
  return file;
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

base::Result<std::string> read_text_if_there(const std::filesystem::path& path) {
  const auto file = open_text(path);
  if (file.ok()) return std::string(text_of(*file));
  if (file.error().code == ErrorCode::not_found) return std::string();
  return file.error();
}

base::Result<json::value> read_json_value(const std::filesystem::path& path) {
  TRY(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > kMaxTextBytes)
    return base::error(ErrorCode::corrupt, "{}: {} bytes of JSON", path.string(), file.bytes().size());
  auto parsed = base::parse_json(text_of(file));
  if (!parsed.ok()) return base::error(ErrorCode::corrupt, "{}: {}", path.string(), parsed.error().message);
  return parsed;
}

base::Result<json::object> read_json_file(const std::filesystem::path& path) {
  TRY(json::value value, read_json_value(path));
  if (!value.is_object()) return base::error(ErrorCode::corrupt, "{}: not a JSON object", path.string());
  return std::move(value.get_object());
}

}  // namespace kvasir::model
