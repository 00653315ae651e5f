#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace kvasir::app {

// For people to read, so that nobody being there is no failure: a closed pipe or a full disk loses the words.
// A command's result is printed with fmt::print, which fails.
template <class... Args>
void say(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  (void)std::fwrite(text.data(), 1, text.size(), out);
}

}  // namespace kvasir::app
