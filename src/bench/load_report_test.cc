#include "bench/load_report.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "bench/svg_plot.h"

namespace kvasir::bench {
namespace {

// Makes the record of a request sent at `scheduled_s`, with a token every `gap_s` from `first_s` on.
RequestRecord answered(double scheduled_s, double first_s, double gap_s, int num_tokens) {
  RequestRecord record;
  record.scheduled_s = record.sent_s = scheduled_s;
  record.first_s = first_s;
  for (int i = 0; i < num_tokens; ++i) record.chunks_s.push_back(first_s + i * gap_s);
  record.end_s = record.chunks_s.back();
  record.output_tokens = num_tokens;
  record.prompt_tokens = 100;
  record.counted = true;
  record.http_status = 200;
  return record;
}

RequestRecord failed(Failure failure, int status, const std::string& message) {
  RequestRecord record;
  record.end_s = 1;
  record.failure = failure;
  record.http_status = status;
  record.message = message;
  return record;
}

LoadReport example() {
  LoadReport report;
  report.url = "http://example";
  report.model = "<model>";
  report.workload = "chat";
  report.slo = {.ttft_s = 0.5, .tpot_s = 0.2};
  PhaseRun run;
  run.window_s = 4;
  run.records = {answered(0, 0.25, 0.1, 11),
                 answered(1, 2, 0.1, 11),
                 answered(2, 2.25, 0.5, 3),
                 failed(Failure::refused, 503, "full"),
                 failed(Failure::refused, 503, "again"),
                 failed(Failure::timeout, 0, "slow")};
  for (const int concurrency : {1, 8}) {
    LoadPhase phase;
    phase.concurrency = concurrency;
    report.phases.push_back(summarize(phase, run, report.slo));
    report.runs.push_back(run);
  }
  return report;
}

TEST(LoadSummary, AddsUp) {
  const LoadReport report = example();
  const PhaseSummary& p = report.phases[0];
  EXPECT_EQ(p.num_requests, 6);
  EXPECT_EQ(p.num_ok, 3);
  EXPECT_EQ(p.failures.at("http 503").count, 2);
  EXPECT_EQ(p.failures.at("http 503").example, "full");
  EXPECT_EQ(p.failures.at("timeout").count, 1);
  EXPECT_EQ(p.output_tokens, 25);
  EXPECT_EQ(p.prompt_tokens, 300);
  EXPECT_NEAR(p.output_tokens_per_s, 25 / 4.0, 1e-9);
  EXPECT_NEAR(p.ttft_s.max, 1, 1e-9);
  EXPECT_NEAR(p.ttft_s.p50, 0.25, 1e-9);
  EXPECT_NEAR(p.tpot_s.p50, 0.1, 1e-9);
  EXPECT_NEAR(p.longest_gap_s, 0.5, 1e-9);
  EXPECT_EQ(p.itl_s.count, 22u);
  // The second request has a late first token, and the third has slow tokens.
  EXPECT_EQ(p.num_good, 1);
  EXPECT_NEAR(p.goodput_per_s, 0.25, 1e-9);
  EXPECT_EQ(p.token_source, TokenSource::usage);
}

TEST(LoadSummary, RatesCountWhatCameWithinTheWindow) {
  PhaseRun run;
  run.window_s = 1;
  run.records = {answered(0, 0.05, 0.1, 20)};  // ten tokens arrive by 0.95 s
  const PhaseSummary p = summarize({.concurrency = 1}, run, {});
  EXPECT_NEAR(p.output_tokens_per_s, 10, 1e-9);
  EXPECT_EQ(p.requests_per_s, 0);
  EXPECT_EQ(p.output_tokens, 20);
}

TEST(LoadSummary, LatencyCountsFromTheArrival) {
  RequestRecord late = answered(1, 5, 0.1, 2);
  late.sent_s = 4.5;
  EXPECT_DOUBLE_EQ(late.ttft_s(), 4);
}

TEST(LoadReport, JsonHoldsThePhases) {
  const auto object = load_json(example());
  const auto& phase = object.at("phases").as_array().at(1).as_object();
  EXPECT_EQ(phase.at("concurrency").as_int64(), 8);
  EXPECT_EQ(phase.at("requests").as_int64(), 6);
  EXPECT_EQ(phase.at("failures").as_object().at("timeout").as_object().at("count").as_int64(), 1);
  EXPECT_NEAR(phase.at("ttft_ms").as_object().at("max").as_double(), 1000, 1e-6);
  EXPECT_EQ(phase.at("token_source").as_string(), "usage");
}

TEST(LoadReport, TableNamesWhatFailed) {
  const std::string table = load_table(example());
  EXPECT_NE(table.find("8 clients"), std::string::npos);
  EXPECT_NE(table.find("2 failed: http 503 (full)"), std::string::npos);
  EXPECT_NE(table.find("goodput"), std::string::npos);
}

TEST(LoadReport, PageIsWholeInItself) {
  const std::string page = load_html(example());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find("Goodput by load"), std::string::npos);
  for (const std::string_view outside : {"src=", "href=", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_EQ(page.find("<model>"), std::string::npos);
  EXPECT_NE(page.find("&lt;model&gt;"), std::string::npos);
  std::size_t num_plots = 0;
  for (std::size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1))
    ++num_plots;
  EXPECT_EQ(num_plots, 7u);
  const std::size_t begin = page.find("id=\"report\">") + 12;
  const auto parsed = boost::json::parse(page.substr(begin, page.find("</script>") - begin));
  EXPECT_EQ(parsed.as_object().at("phases").as_array().size(), 2u);
}

TEST(LoadReport, APageOfNothingIsStillAPage) {
  LoadReport report;
  report.phases.push_back(summarize({.concurrency = 1}, {}, {}));
  report.runs.emplace_back();
  EXPECT_NE(load_html(report).find("</html>"), std::string::npos);
}

TEST(SvgPlot, DrawsNothingOfNothing) {
  EXPECT_EQ(draw({.series = {{"a", {}}}}), "");
  EXPECT_EQ(draw({.x_scale = AxisScale::logarithmic, .series = {{"a", {{0, 1}}}}}), "");
}

TEST(SvgPlot, KeepsPointsInsideTheFrame) {
  const std::string svg = draw({.mark = PlotMark::dots, .series = {{"a", {{3, 7}, {1000, 0.5}, {0, 0}}}}});
  std::size_t num_dots = 0;
  for (std::size_t at = svg.find("cx=\""); at != std::string::npos; at = svg.find("cx=\"", at + 1)) {
    const double x = std::stod(svg.substr(at + 4));
    EXPECT_GE(x, 60);
    EXPECT_LE(x, 630);
    ++num_dots;
  }
  EXPECT_EQ(num_dots, 3u);
}

}  // namespace
}  // namespace kvasir::bench
