#include "app/bench_embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "app/ready_model.h"
#include "config/load.h"
#include "model/loaded_encoder.h"

namespace kvasir::app {

namespace {

using Clock = std::chrono::steady_clock;

struct EmbedBenchArguments {
  config::FlagValues settings;
  std::string model;
  std::vector<int> batches = {1, 8, 64};
  int num_words = 20;
  double seconds = 2;
  bool json = false;
};

struct EmbedRow {
  int batch = 0;
  double sentences_per_s = 0;
  double tokens_per_s = 0;
  double ms_per_call = 0;  // the median
};

// A sentence of ordinary words, in a different order each time.
std::string sentence(int number, int num_words) {
  constexpr const char* kWords[] = {"the",   "river",   "runs",  "past",  "a",     "small",
                                    "house", "where",   "three", "old",   "women", "sell",
                                    "warm",  "bread",   "and",   "tell",  "long",  "tales",
                                    "of",    "distant", "seas",  "every", "sunny", "morning"};
  std::string text;
  for (int i = 0; i < num_words; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " ",
                        kWords[(number * 7 + i * (number % 5 + 1)) % std::size(kWords)]);
  return text + ".";
}

base::Result<EmbedRow> measure_embed(const model::LoadedEncoder& loaded, const EmbedBenchArguments& arguments,
                                     int batch) {
  std::vector<std::vector<TokenId>> sequences;
  std::size_t num_tokens = 0;
  for (int i = 0; i < batch; ++i) {
    sequences.push_back(loaded.tokens(sentence(i, arguments.num_words)));
    num_tokens += sequences.back().size();
  }
  TRY_OK(loaded.encoder->encode(sequences));  // grows the buffers
  std::vector<double> calls;
  double total = 0;
  while (total < arguments.seconds || calls.size() < 3) {
    const auto start = Clock::now();
    TRY_OK(loaded.encoder->encode(sequences));
    calls.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    total += calls.back();
  }
  std::ranges::sort(calls);
  const double median = calls[calls.size() / 2];
  return EmbedRow{batch, batch / median, static_cast<double>(num_tokens) / median, 1e3 * median};
}

base::Result<std::vector<EmbedRow>> measure_all(const EmbedBenchArguments& arguments) {
  TRY(const config::Settings settings, config::load(arguments.settings));
  TRY(const std::filesystem::path path, find_ready_model(arguments.model, settings));
  TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
  const int num_threads = settings.compute_threads > 0
                              ? settings.compute_threads
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ops::ComputePool pool(num_threads, isa);
  TRY(const model::LoadedEncoder loaded, model::open_encoder(path, {}, pool));
  std::vector<EmbedRow> rows;
  for (const int batch : arguments.batches) {
    TRY(const EmbedRow row, measure_embed(loaded, arguments, batch));
    rows.push_back(row);
  }
  return rows;
}

void print_embed(const std::vector<EmbedRow>& rows) {
  fmt::print("{:>6} {:>14} {:>12} {:>10}\n", "batch", "sentences/s", "tokens/s", "ms a call");
  for (const EmbedRow& row : rows)
    fmt::print("{:>6} {:>14.1f} {:>12.0f} {:>10.2f}\n", row.batch, row.sentences_per_s, row.tokens_per_s,
               row.ms_per_call);
}

void print_json_embed(const std::vector<EmbedRow>& rows) {
  boost::json::array list;
  for (const EmbedRow& row : rows)
    list.push_back({{"batch", row.batch},
                    {"sentences_per_s", row.sentences_per_s},
                    {"tokens_per_s", row.tokens_per_s},
                    {"ms_per_call", row.ms_per_call}});
  fmt::print("{}\n", boost::json::serialize(list));
}

void run_embed(const EmbedBenchArguments& arguments, Outcome& outcome) {
  const auto rows = measure_all(arguments);
  if (!rows.ok()) return report(outcome, rows.error());
  if (arguments.json) return print_json_embed(*rows);
  print_embed(*rows);
}

}  // namespace

void add_bench_embed(CLI::App& bench_command, Outcome& outcome) {
  CLI::App* command =
      bench_command.add_subcommand("embed", "Measure how many sentences an encoder embeds in a second");
  auto arguments = std::make_shared<EmbedBenchArguments>();
  command->add_option("model", arguments->model, "A name from 'kvasir models', or a path")
      ->type_name("NAME|PATH")
      ->required();
  command->add_option("--batch", arguments->batches, "Sentences of one call, several sizes")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  command->add_option("--words", arguments->num_words, "Words of a sentence")
      ->type_name("N")
      ->check(CLI::Range(1, 200));
  command->add_option("--seconds", arguments->seconds, "Time for each size")
      ->type_name("S")
      ->check(CLI::Range(0.0, 600.0));
  command->add_flag("--json", arguments->json, "A JSON array instead of a table");
  config::add_flags(*command, arguments->settings, {"model_dir", "compute_threads", "isa"});
  command->callback([arguments, &outcome] { run_embed(*arguments, outcome); });
}

}  // namespace kvasir::app
