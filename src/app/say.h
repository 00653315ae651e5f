#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace kvasir::app {

// Prints text for people. If it cannot be written (a closed pipe, a full disk), the text is lost, which is
// not a failure. A command's result is printed with fmt::print instead, which does fail.
template <class... Args>
void say(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  (void)std::fwrite(text.data(), 1, text.size(), out);
}

}  // namespace kvasir::app
