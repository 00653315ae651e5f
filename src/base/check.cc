#include "base/check.h"

#include <execinfo.h>
#include <unistd.h>

#include <cstdlib>

namespace kvasir::base {

void check_failed(std::string_view file, int line, std::string_view condition, const std::string& message) {
  const std::string text = fmt::format("{}:{}: CHECK({}) failed: {}\n", file, line, condition, message);
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, text.data(), text.size());
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
  std::abort();
}

}  // namespace kvasir::base
