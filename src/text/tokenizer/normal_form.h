#pragma once

#include <string>
#include <string_view>

namespace kvasir::text {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

// `text` is valid UTF-8, and so is the result. O(n log n) whatever the text; text in form C already, which
// most is, is copied.
std::string normal_form(std::string_view text, NormalForm form);

}  // namespace kvasir::text
