#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "app/command.h"
#include "app/progress_line.h"
#include "model/quantize/quantize_file.h"

namespace kvasir::app {

namespace {

struct QuantizeFlags {
  std::string in;
  std::string out;
  std::string type = "q4_k";
};

tensor::DType type_named(const std::string& name) {
  if (name == "q8_0") return tensor::DType::q8_0;
  return name == "q4_0" ? tensor::DType::q4_0 : tensor::DType::q4_k;
}

void quantize(const QuantizeFlags& flags, Outcome& outcome) {
  ops::ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  constexpr double kMegabyte = 1e6;
  model::QuantizeProgress last;
  ProgressLine line;
  const auto show = [&](const model::QuantizeProgress& progress) {
    last = progress;
    line.show(fmt::format(
        "{:3.0f} %  {:.0f} MB read, {:.0f} MB written",
        100.0 * static_cast<double>(progress.read_bytes) / static_cast<double>(progress.total_bytes),
        static_cast<double>(progress.read_bytes) / kMegabyte,
        static_cast<double>(progress.written_bytes) / kMegabyte));
  };
  const base::Status status = model::quantize_file(flags.in, flags.out, type_named(flags.type), pool, show);
  line.clear();
  if (!status.ok()) return report(outcome, status.error());
  fmt::print("{}: {:.1f} MB of weights, were {:.1f}\n", flags.out,
             static_cast<double>(last.written_bytes) / kMegabyte,
             static_cast<double>(last.total_bytes) / kMegabyte);
}

}  // namespace

void add_quantize(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("quantize", "Write a GGUF file with smaller weights");
  command->footer(
      "The matrices become what --type says; norms, biases and routers stay as they are, and with 4 bits\n"
      "the embedding and the output matrix get 6 (q6_k). Every other program that reads GGUF can read it.\n"
      "\n"
      "Examples:\n"
      "  kvasir quantize model-f16.gguf model-q4_k.gguf --type q4_k\n"
      "  kvasir quantize ./Qwen2.5-1.5B-Instruct qwen.gguf --type q8_0\n"
      "\n"
      "Exit status: 0 written, 1 failure (nothing is left behind), 2 wrong usage.");
  auto flags = std::make_shared<QuantizeFlags>();
  command->add_option("IN", flags->in, "A GGUF file or a safetensors directory, best in f32, f16 or bf16")
      ->required()
      ->type_name("");
  command->add_option("OUT", flags->out, "The file to write")->required()->type_name("");
  command->add_option("--type", flags->type, "q8_0, q4_0 or q4_k")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"q8_0", "q4_0", "q4_k"}))
      ->capture_default_str();
  command->callback([flags, &outcome] { quantize(*flags, outcome); });
}

}  // namespace kvasir::app
