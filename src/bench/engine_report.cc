#include "bench/engine_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string_view>

namespace kvasir::bench {

namespace json = boost::json;

namespace {

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

double fastest_ops(const EngineReport& report) {
  const Peak* peak = report.machine.fastest();
  return peak == nullptr ? 0 : peak->ops_per_s;
}

std::string size_text(double bytes) {
  return bytes >= 1e9 ? fmt::format("{:.2f} GB", bytes / 1e9) : fmt::format("{:.1f} MB", bytes / 1e6);
}

void add_machine(std::string& text, const EngineReport& report) {
  const Machine& machine = report.machine;
  text += fmt::format("{}, {} thread{}, kernels for {}\n", machine.cpu, machine.num_threads,
                      machine.num_threads == 1 ? "" : "s", report.isa);
  text += fmt::format("  {:<28} {:>9.1f} GB/s\n", "read bandwidth", machine.read_bytes_per_s / 1e9);
  for (const Peak& peak : machine.peaks)
    text += fmt::format("  {:<28} {:>9.1f} Gop/s\n",
                        fmt::format("{} peak, {}", name_of(peak.arithmetic), peak.instruction),
                        peak.ops_per_s / 1e9);
}

void add_prefills(std::string& text, const EngineReport& report) {
  if (report.figures.prefills.empty()) return;
  text += fmt::format("\n{:<8} {:>7} {:>10} {:>10} {:>9} {:>8}\n", "prefill", "tokens", "tokens/s", "ms",
                      "Gop/s", "of peak");
  for (const PrefillFigures& p : report.figures.prefills)
    text +=
        fmt::format("{:<8} {:>7} {:>10.1f} {:>10.1f} {:>9.1f} {:>6.1f} %\n", "", p.num_tokens, p.tokens_per_s,
                    p.seconds * 1e3, p.ops_per_s / 1e9, 100 * share(p.ops_per_s, fastest_ops(report)));
}

void add_decodes(std::string& text, const EngineReport& report) {
  if (report.figures.decodes.empty()) return;
  text += fmt::format("\n{:<8} {:>7} {:>10} {:>10} {:>9} {:>8} {:>9} {:>8} {:>10} {:>8}\n", "decode", "batch",
                      "tokens/s", "ms a step", "GB/s", "of read", "Gop/s", "of peak", "sample us", "rest us");
  for (const DecodeFigures& d : report.figures.decodes)
    text += fmt::format(
        "{:<8} {:>7} {:>10.1f} {:>10.2f} {:>9.2f} {:>6.1f} % {:>9.1f} {:>6.1f} % {:>10.0f} {:>8.0f}\n", "",
        d.batch, d.tokens_per_s, d.step_s * 1e3, d.bytes_per_s / 1e9,
        100 * share(d.bytes_per_s, report.machine.read_bytes_per_s), d.ops_per_s / 1e9,
        100 * share(d.ops_per_s, fastest_ops(report)), d.sampling_s * 1e6, d.rest_s * 1e6);
}

json::object machine_json(const EngineReport& report) {
  json::array peaks;
  for (const Peak& peak : report.machine.peaks)
    peaks.push_back(json::object{{"arithmetic", name_of(peak.arithmetic)},
                                 {"instruction", peak.instruction},
                                 {"ops_per_s", peak.ops_per_s}});
  return {{"cpu", report.machine.cpu},
          {"threads", report.machine.num_threads},
          {"isa", report.isa},
          {"cache_bytes", report.machine.cache_bytes},
          {"read_bytes_per_s", report.machine.read_bytes_per_s},
          {"peaks", std::move(peaks)}};
}

json::object decode_json(const DecodeFigures& d, const EngineReport& report) {
  return {{"batch", d.batch},
          {"depth", d.depth},
          {"tokens_per_s", d.tokens_per_s},
          {"step_ms", d.step_s * 1e3},
          {"worst_step_ms", d.worst_step_s * 1e3},
          {"kernel_ms", d.kernel_s * 1e3},
          {"sampling_us", d.sampling_s * 1e6},
          {"rest_us", d.rest_s * 1e6},
          {"outside_us", (d.sampling_s + d.rest_s) * 1e6},
          {"bytes_per_s", d.bytes_per_s},
          {"bandwidth_share", share(d.bytes_per_s, report.machine.read_bytes_per_s)},
          {"ops_per_s", d.ops_per_s},
          {"peak_share", share(d.ops_per_s, fastest_ops(report))}};
}

}  // namespace

std::string engine_table(const EngineReport& report) {
  std::string text;
  add_machine(text, report);
  text += fmt::format(
      "\n{}: {} of weights a step, {:.2f} Gop a token, {:.1f} KB of KV a token; loaded in {:.1f} s\n",
      report.load.name, size_text(report.load.bytes_of_step(1)),
      (report.load.ops_per_token + report.load.head_ops) / 1e9, report.load.kv_bytes_per_token / 1e3,
      report.load_s);
  add_prefills(text, report);
  add_decodes(text, report);
  if (!report.figures.decodes.empty())
    text += fmt::format(
        "\nDecode at a depth of {}; medians of steps. sample: building the batch and drawing tokens;\n"
        "rest: plan, commit and handing tokens over. GB/s and Gop/s are of the time inside the kernels.\n",
        report.figures.decodes.front().depth);
  return text;
}

json::object engine_json(const EngineReport& report) {
  json::array prefills;
  for (const PrefillFigures& p : report.figures.prefills)
    prefills.push_back(json::object{{"tokens", p.num_tokens},
                                    {"seconds", p.seconds},
                                    {"tokens_per_s", p.tokens_per_s},
                                    {"ops_per_s", p.ops_per_s},
                                    {"peak_share", share(p.ops_per_s, fastest_ops(report))}});
  json::array decodes;
  for (const DecodeFigures& d : report.figures.decodes) decodes.push_back(decode_json(d, report));
  return {{"machine", machine_json(report)},
          {"model",
           {{"name", report.load.name},
            {"weight_bytes", report.load.bytes_of_step(1)},
            {"ops_per_token", report.load.ops_per_token + report.load.head_ops},
            {"kv_bytes_per_token", report.load.kv_bytes_per_token},
            {"load_s", report.load_s}}},
          {"prefill", std::move(prefills)},
          {"decode", std::move(decodes)}};
}

}  // namespace kvasir::bench
