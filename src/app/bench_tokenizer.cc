#include "app/bench_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "app/ready_model.h"
#include "config/load.h"
#include "model/tokenizer/tokenizer_cache.h"
#include "model/tokenizer/tokenizer_file.h"

namespace kvasir::app {

namespace {

using Clock = std::chrono::steady_clock;

struct TokenizerBenchArguments {
  config::FlagValues settings;
  std::string tokenizer;
  std::vector<std::string> texts;
  int num_rounds = 5;
  bool json = false;
};

struct TokenizerRow {
  std::string text;
  std::size_t num_bytes = 0;
  std::size_t num_tokens = 0;
  double mb_per_s = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

base::Result<std::string> read_text(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return base::error(base::ErrorCode::not_found, "{} cannot be read", path);
  return std::move(text).str();
}

struct Report {
  double load_ms = 0;
  std::optional<double> prepared_load_ms;  // absent if this kind of tokenizer is not kept prepared
  std::vector<TokenizerRow> rows;
};

base::Result<double> load_time_ms(const std::filesystem::path& path, const model::TokenizerCache& cache,
                                  int num_rounds) {
  std::vector<double> times;
  for (int i = 0; i < num_rounds; ++i) {
    const auto start = Clock::now();
    TRY(const auto tokenizer, model::read_tokenizer(path, cache));
    times.push_back(1e3 * seconds_since(start));
  }
  return median(times);
}

base::Result<Report> measure_tokenizer(const TokenizerBenchArguments& arguments) {
  TRY(const config::Settings settings, config::load(arguments.settings));
  // A path to a tokenizer's own folder is used as it is; anything else is the name of a model.
  std::filesystem::path path = arguments.tokenizer;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    TRY(path, find_ready_model(arguments.tokenizer, settings));
  }
  Report report;
  TRY(report.load_ms, load_time_ms(path, {}, arguments.num_rounds));
  const model::TokenizerCache cache({.directory = config::tokenizer_dir(settings)});
  TRY(const auto tokenizer, model::read_tokenizer(path, cache));  // prepares the tokenizer
  if (std::filesystem::is_directory(path, ignored)) {
    TRY(report.prepared_load_ms, load_time_ms(path, cache, arguments.num_rounds));
  }
  for (const std::string& file : arguments.texts) {
    TRY(const std::string text, read_text(file));
    TokenizerRow row{.text = file, .num_bytes = text.size()};
    std::vector<double> speeds;
    for (int i = 0; i < arguments.num_rounds; ++i) {
      const auto start = Clock::now();
      row.num_tokens = tokenizer->encode(text, text::Specials::parse).size();
      speeds.push_back(static_cast<double>(text.size()) / 1e6 / std::max(seconds_since(start), 1e-9));
    }
    row.mb_per_s = median(speeds);
    report.rows.push_back(std::move(row));
  }
  return report;
}

void print_tokenizer(const Report& report) {
  fmt::print("loaded in {:.1f} ms", report.load_ms);
  if (report.prepared_load_ms) fmt::print(", from its prepared form in {:.1f} ms", *report.prepared_load_ms);
  fmt::print("\n");
  for (const TokenizerRow& row : report.rows)
    fmt::print("{:<40} {:>10} bytes {:>9} tokens {:>8.1f} MB/s\n", row.text, row.num_bytes, row.num_tokens,
               row.mb_per_s);
}

void print_json_tokenizer(const Report& report) {
  boost::json::array rows;
  for (const TokenizerRow& row : report.rows)
    rows.push_back({{"text", row.text},
                    {"bytes", row.num_bytes},
                    {"tokens", row.num_tokens},
                    {"mb_per_s", row.mb_per_s}});
  boost::json::object whole{{"load_ms", report.load_ms}, {"texts", rows}};
  if (report.prepared_load_ms) whole["prepared_load_ms"] = *report.prepared_load_ms;
  fmt::print("{}\n", boost::json::serialize(whole));
}

void run_tokenizer(const TokenizerBenchArguments& arguments, Outcome& outcome) {
  const auto report_of = measure_tokenizer(arguments);
  if (!report_of.ok()) return report(outcome, report_of.error());
  if (arguments.json) return print_json_tokenizer(*report_of);
  print_tokenizer(*report_of);
}

}  // namespace

void add_bench_tokenizer(CLI::App& bench_command, Outcome& outcome) {
  CLI::App* command = bench_command.add_subcommand(
      "tokenizer", "Measure how fast a tokenizer loads and encodes, on one core");
  auto arguments = std::make_shared<TokenizerBenchArguments>();
  command
      ->add_option("tokenizer", arguments->tokenizer,
                   "A directory with tokenizer.json, a GGUF file, or a name from 'kvasir models'")
      ->type_name("NAME|PATH")
      ->required();
  command->add_option("texts", arguments->texts, "Files of text")->type_name("FILE")->required();
  command->add_option("--rounds", arguments->num_rounds, "Figures are medians of so many runs")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--json", arguments->json, "One JSON object instead of a table");
  config::add_flags(*command, arguments->settings, {"model_dir"});
  command->callback([arguments, &outcome] { run_tokenizer(*arguments, outcome); });
}

}  // namespace kvasir::app
