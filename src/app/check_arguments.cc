#include "app/check_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace kvasir::app {

void add_model(CLI::App& command, CheckedModel& model, const std::vector<std::string>& more_settings) {
  model.num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  command.add_option("model", model.name, "A GGUF file, a model directory, or a name from 'kvasir models'")
      ->type_name("NAME|PATH")
      ->required();
  command.add_option("--threads", model.num_threads, "Compute threads")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  std::vector<std::string> settings{"model_dir", "isa", "kv_type"};
  settings.insert(settings.end(), more_settings.begin(), more_settings.end());
  config::add_flags(command, model.settings, settings);
}

void add_golden(CLI::App& command, GoldenArguments& arguments,
                const std::vector<std::string>& more_settings) {
  add_model(command, arguments.model, more_settings);
  command.add_option("golden", arguments.golden, "What a float32 reference computed")
      ->type_name("GOLDEN.json")
      ->required();
  command.add_flag("--exact", arguments.exact, "Float32 on the dequantised weights, not the fast kernels");
}

std::string row_label(std::string_view text) {
  constexpr std::size_t kWidth = 44;
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.size() > kWidth ? fmt::format("{}...", line.substr(0, kWidth - 3)) : std::string(line);
}

void report_failures(Outcome& outcome, std::span<const std::string> failures) {
  for (const std::string& failure : failures) fmt::print("MISSED {}\n", failure);
  if (failures.empty())
    fmt::print("ok\n");
  else
    outcome.status = kFailure;
}

}  // namespace kvasir::app
