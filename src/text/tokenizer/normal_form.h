#pragma once

#include <string>
#include <string_view>

namespace kvasir::text {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

// `text` is valid UTF-8, and so is the result. O(n log n) for any text. Text that is already in form C, as
// most is, is only copied.
std::string normal_form(std::string_view text, NormalForm form);

}  // namespace kvasir::text
