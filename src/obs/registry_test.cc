#include "obs/registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "obs/process_metrics.h"

namespace kvasir::obs {
namespace {

// Parses the text exposition, and rejects everything that the format forbids.
struct Parsed {
  struct Family {
    std::string help;
    std::string type;
  };
  std::map<std::string, Family> families;
  std::map<std::string, double> samples;  // by name{labels}, labels unescaped as name=value;
};

// The unescaped text between an opening quote, already read, and the closing one.
std::optional<std::string> read_quoted(std::istringstream& in) {
  std::string value;
  for (char c = 0; in.get(c);) {
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (!in.get(c)) return std::nullopt;
    if (c == 'n') {
      value += '\n';
    } else if (c == '\\' || c == '"') {
      value += c;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

void read_sample(const std::string& line, Parsed& into) {
  std::istringstream in(line);
  std::string key;
  char c = 0;
  while (in.get(c) && c != ' ' && c != '{') key += c;
  std::string family = key;
  if (c == '{') {
    key += '{';
    while (c != '}') {
      std::string name;
      while (in.get(c) && c != '=') name += c;
      ASSERT_TRUE(in.get(c) && c == '"') << line;
      const auto value = read_quoted(in);
      ASSERT_TRUE(value.has_value()) << line;
      key += name + "=" + *value + ";";
      ASSERT_TRUE(in.get(c) && (c == ',' || c == '}')) << line;
    }
    key += '}';
    in.get(c);
  }
  std::string number;
  std::getline(in, number);
  for (const char* suffix : {"_bucket", "_sum", "_count"}) {
    const auto at = family.rfind(suffix);
    if (at == std::string::npos || at + std::string(suffix).size() != family.size()) continue;
    const auto base = into.families.find(family.substr(0, at));
    if (base != into.families.end() && base->second.type == "histogram") family = base->first;
  }
  EXPECT_TRUE(into.families.count(family)) << "a sample before its TYPE: " << line;
  EXPECT_TRUE(into.samples.emplace(key, std::stod(number)).second) << "twice: " << key;
}

Parsed parse(const std::string& text) {
  Parsed out;
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream in(line);
    std::string hash, kind, name, rest;
    if (line.starts_with("# ")) {
      in >> hash >> kind >> name;
      std::getline(in >> std::ws, rest);
      auto& family = out.families[name];
      std::string& slot = kind == "HELP" ? family.help : family.type;
      EXPECT_TRUE(slot.empty()) << line;
      slot = rest;
    } else {
      read_sample(line, out);
    }
  }
  return out;
}

TEST(RegistryTest, WritesWhatAReaderUnderstands) {
  Registry registry;
  registry.counter(Name("requests_total", "Requests,\nby \\ status."), {{"status", "200"}}).add(3);
  registry.counter(Name("requests_total", ""), {{"status", "\"a\\b\nc\""}}).add();
  registry.gauge(Name("free_blocks", "Free.")).set(1.5);
  Histogram& histogram = registry.histogram(Name("wait_seconds", "Wait."), {0.1, 1}, {{"model", "m"}});
  for (const double value : {0.05, 0.1, 0.5, 7.0}) histogram.observe(value);
  const Observation observed = registry.observe_gauge(Name("depth", "Depth."), {}, [] { return 42.0; });

  const Parsed seen = parse(registry.text());
  EXPECT_EQ(seen.families.at("requests_total").type, "counter");
  EXPECT_EQ(seen.families.at("requests_total").help, "Requests,\\nby \\\\ status.");
  EXPECT_EQ(seen.families.at("wait_seconds").type, "histogram");
  const std::map<std::string, double> expected = {{"requests_total{status=200;}", 3},
                                                  {"requests_total{status=\"a\\b\nc\";}", 1},
                                                  {"free_blocks", 1.5},
                                                  {"depth", 42},
                                                  {"wait_seconds_bucket{model=m;le=0.1;}", 2},
                                                  {"wait_seconds_bucket{model=m;le=1;}", 3},
                                                  {"wait_seconds_bucket{model=m;le=+Inf;}", 4},
                                                  {"wait_seconds_sum{model=m;}", 7.65},
                                                  {"wait_seconds_count{model=m;}", 4}};
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(seen.samples.count(key)) << key;
    EXPECT_DOUBLE_EQ(seen.samples.at(key), value) << key;
  }
  EXPECT_EQ(seen.samples.size(), expected.size());
}

TEST(RegistryTest, SeveralSeriesAreReadAtOnce) {
  Registry registry;
  int num_reads = 0;
  std::vector<Sample> samples = {{{{"state", "used"}}, 3}, {{{"state", "free"}}, 4}};
  const Observation blocks = registry.observe_gauges(Name("blocks", "Blocks."), {{"model", "m"}}, [&] {
    ++num_reads;
    return samples;
  });
  const Observation bare =
      registry.observe_counters(Name("n_total", "N."), {}, [] { return std::vector<Sample>{{{}, 7}}; });
  const Parsed seen = parse(registry.text());
  EXPECT_EQ(num_reads, 1);
  EXPECT_EQ(seen.samples.at("blocks{model=m;state=used;}"), 3);
  EXPECT_EQ(seen.samples.at("blocks{model=m;state=free;}"), 4);
  EXPECT_EQ(seen.samples.at("n_total"), 7);
  samples.pop_back();
  EXPECT_EQ(parse(registry.text()).samples.count("blocks{model=m;state=free;}"), 0u);
}

TEST(RegistryTest, OpenMetricsNamesTheTraceOfAnObservation) {
  Registry registry;
  registry.counter(Name("requests_total", "All \"of\" them.")).add(2);
  Histogram& histogram = registry.histogram(Name("wait_seconds", "Wait."), {0.1, 1}, {{"model", "m"}});
  histogram.observe(0.05);
  histogram.observe(0.5, "4bf92f3577b34da6a3ce929d0e0e4736");
  const std::string text = registry.text(Format::openmetrics);
  const auto has = [&](std::string_view line) { return text.find(line) != std::string::npos; };
  EXPECT_TRUE(has("# TYPE requests counter\nrequests_total 2\n")) << text;
  EXPECT_TRUE(has("# HELP requests All \\\"of\\\" them.\n")) << text;
  EXPECT_TRUE(has("wait_seconds_bucket{model=\"m\",le=\"0.1\"} 1\n")) << text;
  EXPECT_TRUE(
      has("wait_seconds_bucket{model=\"m\",le=\"1.0\"} 2 # "
          "{trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"} 0.5 1"))
      << text;
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_EQ(registry.text().find("trace_id"), std::string::npos);
}

TEST(RegistryTest, TheAcceptHeaderChoosesTheFormat) {
  EXPECT_EQ(format_for(""), Format::prometheus);
  EXPECT_EQ(format_for("text/plain, */*"), Format::prometheus);
  EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"), Format::openmetrics);
}

TEST(RegistryTest, TheSameSeriesIsTheSameObject) {
  Registry registry;
  const Name name("n_total", "N.");
  EXPECT_EQ(&registry.counter(name), &registry.counter(name));
  EXPECT_NE(&registry.counter(name), &registry.counter(name, {{"a", "b"}}));
}

TEST(RegistryTest, AnObservationEndsWithItsOwner) {
  Registry registry;
  {
    Observation kept;
    {
      Observation first = registry.observe_counter(Name("seen_total", "S."), {}, [] { return 1.0; });
      kept = std::move(first);
    }
    EXPECT_NE(registry.text().find("seen_total 1"), std::string::npos);
  }
  EXPECT_EQ(registry.text(), "");
  const Observation again = registry.observe_counter(Name("seen_total", "S."), {}, [] { return 2.0; });
  EXPECT_NE(registry.text().find("seen_total 2"), std::string::npos);
}

TEST(RegistryTest, OddNumbersAreSpelledAsPrometheusDoes) {
  Registry registry;
  registry.gauge(Name("a", "A.")).set(std::nan(""));
  registry.gauge(Name("b", "B.")).set(-INFINITY);
  registry.gauge(Name("c", "C.")).set(1e300);
  const std::string text = registry.text();
  EXPECT_NE(text.find("a NaN\n"), std::string::npos);
  EXPECT_NE(text.find("b -Inf\n"), std::string::npos);
  EXPECT_NE(text.find("c 1e+300\n"), std::string::npos);
}

TEST(RegistryTest, CountsFromManyThreadsAddUp) {
  Registry registry;
  Counter& counter = registry.counter(Name("n_total", "N."));
  Histogram& histogram = registry.histogram(Name("h", "H."), exponential_bounds(1, 2, 4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        counter.add();
        histogram.observe(i % 20);
      }
      parse(registry.text());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 20'000u);
  const Parsed seen = parse(registry.text());
  EXPECT_EQ(seen.samples.at("h_count"), 20'000);
  EXPECT_EQ(seen.samples.at("h_sum"), 20'000 * 9.5);
  EXPECT_EQ(seen.samples.at("h_bucket{le=8;}"), 9 * 1000);
}

TEST(RegistryTest, TheProcessIsMeasured) {
  Registry registry;
  const ProcessMetrics process(registry);
  const Parsed seen = parse(registry.text());
  EXPECT_GT(seen.samples.at("process_resident_memory_bytes"), 1e5);
  EXPECT_GE(seen.samples.at("process_virtual_memory_bytes"),
            seen.samples.at("process_resident_memory_bytes"));
  EXPECT_GE(seen.samples.at("process_open_fds"), 3);
  EXPECT_GE(seen.samples.at("process_max_fds"), seen.samples.at("process_open_fds"));
  EXPECT_GE(seen.samples.at("process_threads"), 1);
  const double started_s_ago =
      static_cast<double>(std::time(nullptr)) - seen.samples.at("process_start_time_seconds");
  EXPECT_GT(started_s_ago, -5);
  EXPECT_LT(started_s_ago, 3600);
}

}  // namespace
}  // namespace kvasir::obs
