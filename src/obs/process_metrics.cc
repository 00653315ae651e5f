#include "obs/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace kvasir::obs {
namespace {

// Fields of /proc/self/stat by the numbers of proc(5).
enum Field : int {
  kUserTicks = 14,
  kSystemTicks = 15,
  kStartTicks = 22,
};

// 0 if the system does not report it.
double stat_field(Field wanted) {
  std::ifstream in("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  // The second field is the program's name in parentheses and may contain anything. The third field follows
  // the last ')'.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= wanted; ++number) rest >> field;
  return rest ? std::atof(field.c_str()) : 0;
}

// The virtual and resident memory of the process in bytes, from /proc/self/statm. Under an emulator
// /proc/self/stat does not have them.
struct Memory {
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

Memory memory() {
  std::ifstream in("/proc/self/statm");
  double virtual_pages = 0;
  double resident_pages = 0;
  in >> virtual_pages >> resident_pages;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {virtual_pages * page, resident_pages * page};
}

double num_threads() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("Threads:")) return std::atof(line.c_str() + std::string_view("Threads:").size());
  return 0;
}

double ticks_per_second() {
  return static_cast<double>(sysconf(_SC_CLK_TCK));
}

double start_time_seconds() {
  std::ifstream in("/proc/stat");
  std::string word;
  double boot_time = 0;
  while (in >> word) {
    if (word == "btime") in >> boot_time;
  }
  return boot_time + stat_field(kStartTicks) / ticks_per_second();
}

double open_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  double count = 0;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) ++count;
  return count > 0 ? count - 1 : 0;  // one of them is the descriptor of this listing
}

double max_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

}  // namespace

ProcessMetrics::ProcessMetrics(Registry& registry) {
  const auto gauge = [&](const char* name, const char* help, std::function<double()> read) {
    observations_.push_back(registry.observe_gauge(Name(name, help), {}, std::move(read)));
  };
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
        [] { return memory().resident_bytes; });
  gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.",
        [] { return memory().virtual_bytes; });
  gauge("process_open_fds", "Number of open file descriptors.", open_descriptors);
  gauge("process_max_fds", "Maximum number of open file descriptors.", max_descriptors);
  gauge("process_threads", "Number of threads.", num_threads);
  gauge("process_start_time_seconds", "Start of the process in seconds since the Unix epoch.",
        [start = start_time_seconds()] { return start; });
  observations_.push_back(registry.observe_counter(
      Name("process_cpu_seconds_total", "User and system processor time in seconds."), {},
      [] { return (stat_field(kUserTicks) + stat_field(kSystemTicks)) / ticks_per_second(); }));
}

}  // namespace kvasir::obs
