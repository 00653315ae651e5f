#include "base/json.h"

#include "base/utf8.h"

namespace kvasir::base {

Result<json::value> parse_json(std::string_view text, JsonLimits limits) {
  json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.max_depth);
  json::stream_parser parser(json::storage_ptr(), options);
  boost::system::error_code code;
  const std::size_t consumed = parser.write_some(text, code);
  if (!code && consumed < text.size()) code = json::error::extra_data;
  if (!code) parser.finish(code);
  if (code) {
    if (const std::size_t valid = utf8_valid_prefix(text); valid < text.size())
      return error(ErrorCode::invalid_argument, "not valid UTF-8 (at byte {})", valid);
    const std::string reason = code == json::error::too_deep
                                   ? fmt::format("nested deeper than {} levels", limits.max_depth)
                                   : code.message();
    return error(ErrorCode::invalid_argument, "not valid JSON: {} (at byte {})", reason, consumed);
  }
  return parser.release();
}

}  // namespace kvasir::base
