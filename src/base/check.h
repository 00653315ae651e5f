#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace kvasir::base {

// Prints the message and the stack to stderr and aborts.
[[noreturn]] void check_failed(std::string_view file, int line, std::string_view condition,
                               const std::string& message);

}  // namespace kvasir::base

// A broken invariant is a bug: CHECK(condition, "format", args...) aborts with a stack trace, in every build.
// Never use it for input from outside; return a Result instead.
#define CHECK(condition, ...)                                                                    \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::kvasir::base::check_failed(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
  } while (false)
