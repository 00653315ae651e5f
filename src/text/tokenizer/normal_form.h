#pragma once

#include <string>
#include <string_view>

namespace kvasir::text {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

// Normalizes a text. `text` is valid UTF-8, and so is the result. Takes O(n log n) for any text. Text that is
// already in form C, as most texts are, is only copied.
std::string normal_form(std::string_view text, NormalForm form);

}  // namespace kvasir::text
