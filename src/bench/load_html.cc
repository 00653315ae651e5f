#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <string_view>
#include <utility>

#include "bench/load_report.h"
#include "bench/svg_plot.h"

namespace kvasir::bench {

namespace {

constexpr std::size_t kMaxCurvePoints = 200;
constexpr std::size_t kMaxDots = 2000;
constexpr int kNumSlots = 60;  // time slots of a timeline

constexpr std::string_view kStyle = R"(
:root{--ink:#1c2430;--soft:#5b6675;--line:#dfe4ea;--paper:#fff;--panel:#f6f8fa;
--c0:#1f6feb;--c1:#d9480f;--c2:#2b8a3e;--c3:#ae3ec9;--c4:#e8a600;--c5:#0b9aa8;--c6:#c2255c;--c7:#6b7280}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#2c3542;--paper:#10151c;--panel:#171e27;
--c0:#6ea8fe;--c1:#ff9063;--c2:#69db7c;--c3:#e599f7;--c4:#ffd43b;--c5:#66d9e8;--c6:#faa2c1;--c7:#adb5bd}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1340px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 .3rem}p{margin:.3rem 0;color:var(--soft)}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .9rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:1rem}
figure{margin:0;padding:.5rem;background:var(--panel);border-radius:8px}
svg{width:100%;height:auto;display:block}.grid{stroke:var(--line)}.title{font-weight:600;font-size:14px;fill:var(--ink)}
.tick,.label{font-size:11px;fill:var(--soft)}path{fill:none;stroke-width:2;stroke-linejoin:round}
.key{display:flex;flex-wrap:wrap;gap:1rem;margin:.5rem 0}.key i{display:inline-block;width:1rem;height:.25rem;margin-right:.4rem;vertical-align:middle}
)";

std::string colours() {
  std::string css;
  for (int i = 0; i < 8; ++i)
    css += fmt::format(
        ".s{0} path{{stroke:var(--c{0})}}.s{0} circle{{fill:var(--c{0})}}.k{0}{{background:var(--c{0})}}", i);
  return css;
}

// Returns what part of the values is at or below each value. The points are thinned out.
PlotSeries cumulative(std::string name, std::vector<double> values, double factor) {
  std::sort(values.begin(), values.end());
  PlotSeries series{std::move(name), {}};
  const std::size_t num_points = std::min(kMaxCurvePoints, values.size());
  for (std::size_t i = 0; i < num_points; ++i) {
    const std::size_t rank = num_points == 1 ? 0 : i * (values.size() - 1) / (num_points - 1);
    const double share = 100.0 * static_cast<double>(rank + 1) / static_cast<double>(values.size());
    series.points.push_back({values[rank] * factor, share});
  }
  return series;
}

std::vector<double> gaps_of(const RequestRecord& record) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < record.chunks_s.size(); ++i)
    gaps.push_back(record.chunks_s[i] - record.chunks_s[i - 1]);
  return gaps;
}

Plot ttft_plot(const LoadReport& report) {
  Plot plot{.title = "Time to first token",
            .x_label = "ms",
            .y_label = "% of requests",
            .x_scale = AxisScale::logarithmic};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    std::vector<double> values;
    for (const RequestRecord& record : report.runs[i].records)
      if (record.ok()) values.push_back(record.ttft_s());
    plot.series.push_back(cumulative(report.phases[i].label(), std::move(values), 1e3));
  }
  return plot;
}

Plot itl_plot(const LoadReport& report) {
  Plot plot{.title = "Inter-token latency",
            .x_label = "ms",
            .y_label = "% of gaps",
            .x_scale = AxisScale::logarithmic};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    std::vector<double> values;
    for (const RequestRecord& record : report.runs[i].records) {
      if (!record.ok()) continue;
      const std::vector<double> gaps = gaps_of(record);
      values.insert(values.end(), gaps.begin(), gaps.end());
    }
    // Chunks from one read have no gap between them, but a logarithmic axis needs a value above 0.
    for (double& value : values) value = std::max(value, 1e-5);
    plot.series.push_back(cumulative(report.phases[i].label(), std::move(values), 1e3));
  }
  return plot;
}

Plot timeline_plot(const LoadReport& report) {
  Plot plot{.title = "Output over time", .x_label = "s", .y_label = "tokens/s"};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    double end_s = 0;
    for (const RequestRecord& record : report.runs[i].records) end_s = std::max(end_s, record.end_s);
    if (end_s <= 0) continue;
    std::vector<double> slots(kNumSlots);
    for (const RequestRecord& record : report.runs[i].records) {
      if (record.chunks_s.empty()) continue;
      const double tokens = record.output_tokens / static_cast<double>(record.chunks_s.size());
      for (const double at : record.chunks_s)
        slots[static_cast<std::size_t>(
            std::clamp<int>(static_cast<int>(at / end_s * kNumSlots), 0, kNumSlots - 1))] += tokens;
    }
    PlotSeries series{report.phases[i].label(), {}};
    for (int slot = 0; slot < kNumSlots; ++slot)
      series.points.push_back(
          {(slot + 0.5) * end_s / kNumSlots, slots[static_cast<std::size_t>(slot)] * kNumSlots / end_s});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot arrivals_plot(const LoadReport& report) {
  Plot plot{.title = "Time to first token by arrival",
            .x_label = "arrival, s",
            .y_label = "ms",
            .mark = PlotMark::dots};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::vector<RequestRecord>& records = report.runs[i].records;
    PlotSeries series{report.phases[i].label(), {}};
    const std::size_t every = std::max<std::size_t>(1, records.size() / kMaxDots);
    for (std::size_t j = 0; j < records.size(); j += every)
      if (records[j].ok()) series.points.push_back({records[j].scheduled_s, records[j].ttft_s() * 1e3});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// Draws plots over the number of clients or the rate, if there are several phases.
std::string scaling_plots(const LoadReport& report) {
  if (report.phases.size() < 2) return "";
  Plot output{.title = "Output by load",
              .x_label = "clients",
              .y_label = "tokens/s",
              .mark = PlotMark::line_and_dots};
  Plot first{.title = "Time to first token by load",
             .x_label = "clients",
             .y_label = "ms",
             .mark = PlotMark::line_and_dots};
  output.series = {{"output tokens/s", {}}};
  first.series = {{"p50", {}}, {"p95", {}}};
  for (const PhaseSummary& phase : report.phases) {
    const double load = phase.concurrency > 0 ? phase.concurrency : phase.rate;
    if (phase.concurrency == 0) output.x_label = first.x_label = "requests/s";
    output.series[0].points.push_back({load, phase.output_tokens_per_s});
    first.series[0].points.push_back({load, phase.ttft_s.p50 * 1e3});
    first.series[1].points.push_back({load, phase.ttft_s.p95 * 1e3});
  }
  return fmt::format("<figure>{}</figure><figure>{}</figure>", draw(output), draw(first));
}

// Plots the requests per second that met the SLO, all that ended and, in an open loop, all that arrived.
std::string goodput_plot(const LoadReport& report) {
  if (report.phases.size() < 2 || !report.slo.any()) return "";
  Plot plot{.title = "Goodput by load (met the SLO; all that ended; all that came)",
            .x_label = report.phases.front().concurrency > 0 ? "clients" : "rate, requests/s",
            .y_label = "requests/s",
            .mark = PlotMark::line_and_dots,
            .series = {{"met the SLO", {}}, {"ended", {}}, {"came", {}}}};
  for (const PhaseSummary& phase : report.phases) {
    const double load = phase.concurrency > 0 ? phase.concurrency : phase.rate;
    plot.series[0].points.push_back({load, phase.goodput_per_s});
    plot.series[1].points.push_back({load, phase.requests_per_s});
    if (phase.rate > 0) plot.series[2].points.push_back({load, phase.rate});
  }
  if (plot.series[2].points.empty()) plot.series.pop_back();
  return fmt::format("<figure>{}</figure>", draw(plot));
}

std::string row(std::string_view name, const LoadReport& report,
                const std::function<std::string(const PhaseSummary&)>& cell) {
  std::string html = fmt::format("<tr><td>{}</td>", name);
  for (const PhaseSummary& phase : report.phases)
    html += fmt::format("<td>{}</td>", escape_html(cell(phase)));
  return html + "</tr>";
}

std::string triple(const Distribution& d) {
  if (d.count == 0) return "-";
  return fmt::format("{:.1f} / {:.1f} / {:.1f}", d.p50 * 1e3, d.p95 * 1e3, d.p99 * 1e3);
}

std::string failures_text(const PhaseSummary& phase) {
  std::string text;
  for (const auto& [kind, failure] : phase.failures)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", failure.count, kind);
  return text.empty() ? "none" : text;
}

std::string table(const LoadReport& report) {
  using P = PhaseSummary;
  std::string html = "<div class=\"scroll\"><table><tr><th></th>";
  for (const P& phase : report.phases) html += fmt::format("<th>{}</th>", escape_html(phase.label()));
  html += "</tr>";
  html += row("requests", report, [](const P& p) { return fmt::format("{}", p.num_requests); });
  html += row("failures", report, failures_text);
  html += row("time, s", report, [](const P& p) { return fmt::format("{:.2f}", p.window_s); });
  html +=
      row("output tokens/s", report, [](const P& p) { return fmt::format("{:.1f}", p.output_tokens_per_s); });
  html += row("requests/s", report, [](const P& p) { return fmt::format("{:.2f}", p.requests_per_s); });
  html += row("TTFT p50 / p95 / p99, ms", report, [](const P& p) { return triple(p.ttft_s); });
  html += row("TPOT p50 / p95 / p99, ms", report, [](const P& p) { return triple(p.tpot_s); });
  html += row("ITL p50 / p95 / p99, ms", report, [](const P& p) { return triple(p.itl_s); });
  html +=
      row("longest gap, ms", report, [](const P& p) { return fmt::format("{:.1f}", p.longest_gap_s * 1e3); });
  html += row("latency p50 / p95 / p99, ms", report, [](const P& p) { return triple(p.latency_s); });
  if (report.slo.any())
    html +=
        row("goodput, requests/s", report, [](const P& p) { return fmt::format("{:.2f}", p.goodput_per_s); });
  html += row("prompt tokens (cached)", report,
              [](const P& p) { return fmt::format("{} ({})", p.prompt_tokens, p.cached_tokens); });
  html += row("output tokens", report, [](const P& p) { return fmt::format("{}", p.output_tokens); });
  html += row("load generator: share of a core, worst lag", report, [](const P& p) {
    return fmt::format("{:.1f} %, {:.1f} ms", 100 * p.client_cpu_share, p.client_worst_lag_s * 1e3);
  });
  return html + "</table></div>";
}

std::string key(const LoadReport& report) {
  std::string html = "<div class=\"key\">";
  for (std::size_t i = 0; i < report.phases.size(); ++i)
    html += fmt::format("<span><i class=\"k{}\"></i>{}</span>", i % 8, escape_html(report.phases[i].label()));
  return html + "</div>";
}

// Returns the report as JSON for a script element. A '<' is escaped, as JSON allows, since it could end the
// element.
std::string embedded(const LoadReport& report) {
  std::string text;
  for (const char c : boost::json::serialize(load_json(report))) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string load_html(const LoadReport& report) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>kvasir bench serve: {}</title>"
      "<style>{}{}</style></head><body>\n",
      escape_html(report.model), kStyle, colours());
  html +=
      fmt::format("<h1>{} under load</h1><p>{} workload on {} of {}: {} tokens in, {} out, seed {}; {}</p>\n",
                  escape_html(report.model), escape_html(report.workload), escape_html(report.endpoint),
                  escape_html(report.url), report.input_tokens, report.output_tokens, report.seed,
                  escape_html(report.started));
  for (const std::string& note : report.notes) html += fmt::format("<p>{}</p>", escape_html(note));
  html += table(report) + key(report) + "\n<div class=\"plots\">\n";
  for (const Plot& plot : {ttft_plot(report), itl_plot(report), timeline_plot(report), arrivals_plot(report)})
    if (const std::string svg = draw(plot); !svg.empty()) html += fmt::format("<figure>{}</figure>\n", svg);
  html += scaling_plots(report) + goodput_plot(report) + "</div>\n";
  html +=
      "<script type=\"application/json\" id=\"report\">" + embedded(report) + "</script>\n</body></html>\n";
  return html;
}

}  // namespace kvasir::bench
