#include "tool/tool.h"

#include "base/utf8.h"

namespace kvasir::tool {

std::string bounded_text(std::string_view bytes, std::size_t max_bytes) {
  const bool cut = bytes.size() > max_bytes;
  if (cut) {
    bytes = bytes.substr(0, max_bytes);
    // A character that the limit cuts is dropped, not replaced by U+FFFD.
    std::size_t end = bytes.size();
    while (end > 0 && bytes.size() - end < 4 && (static_cast<unsigned char>(bytes[end - 1]) & 0xC0) == 0x80)
      --end;
    if (end > 0 && base::utf8_step(bytes.substr(end - 1)).kind == base::Utf8Step::Kind::incomplete)
      bytes = bytes.substr(0, end - 1);
  }
  std::string text;
  base::Utf8Repair repair;
  repair.push(bytes, text);
  repair.finish(text);
  if (cut) text += fmt::format("\n[cut off: the result is longer than {} bytes]", max_bytes);
  return text;
}

}  // namespace kvasir::tool
