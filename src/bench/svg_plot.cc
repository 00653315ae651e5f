#include "bench/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvasir::bench {

namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 320;
constexpr double kLeft = 64;
constexpr double kRight = 24;
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr int kNumColours = 8;

// Maps the values of one dimension to pixels.
class Axis {
 public:
  Axis(AxisScale scale, double from_pixel, double to_pixel)
      : scale_(scale), from_pixel_(from_pixel), to_pixel_(to_pixel) {}

  bool shows(double value) const {
    return std::isfinite(value) && (scale_ == AxisScale::linear || value > 0);
  }
  void include(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  // Widens the range so that it begins and ends at a tick.
  void settle() {
    if (scale_ == AxisScale::logarithmic) {
      low_ = std::pow(10, std::floor(std::log10(low_) + 1e-9));
      high_ = std::pow(10, std::ceil(std::log10(high_) - 1e-9));
      if (high_ <= low_) high_ = low_ * 10;
      return;
    }
    low_ = std::min(low_, 0.0);
    if (high_ <= low_) high_ = low_ + 1;
    step_ = tick_step(high_ - low_);
    low_ = std::floor(low_ / step_ + 1e-9) * step_;
    high_ = std::ceil(high_ / step_ - 1e-9) * step_;
  }
  double pixel(double value) const {
    const double share = scale_ == AxisScale::linear ? (value - low_) / (high_ - low_)
                                                     : std::log(value / low_) / std::log(high_ / low_);
    return from_pixel_ + share * (to_pixel_ - from_pixel_);
  }
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (scale_ == AxisScale::logarithmic) {
      const bool few = high_ / low_ < 1001;
      for (double at = low_; at <= high_ * 1.0001; at *= 10)
        for (const double factor : {1.0, 2.0, 5.0})
          if ((factor == 1 || few) && at * factor <= high_ * 1.0001) ticks.push_back(at * factor);
      return ticks;
    }
    for (int i = 0; low_ + i * step_ <= high_ + step_ / 2; ++i) ticks.push_back(low_ + i * step_);
    return ticks;
  }

 private:
  // Returns 1, 2 or 5 times a power of ten, for about six ticks in the span.
  static double tick_step(double span) {
    const double raw = span / 6;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0})
      if (raw <= factor * power) return factor * power;
    return 10 * power;
  }

  AxisScale scale_;
  double from_pixel_;
  double to_pixel_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  double step_ = 1;
};

std::string tick_text(double value) {
  if (std::abs(value) < 1e-12) return "0";
  if (std::abs(value) >= 1e5) return fmt::format("{:.3g}M", value / 1e6);
  return fmt::format("{:.6g}", value);
}

std::string grid(const Plot& plot, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : y.ticks())
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        kLeft, kWidth - kRight, y.pixel(tick), y.pixel(tick), kLeft - 6, y.pixel(tick) + 4, tick_text(tick));
  for (const double tick : x.ticks())
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        x.pixel(tick), x.pixel(tick), kTop, kHeight - kBottom, x.pixel(tick), kHeight - kBottom + 16,
        tick_text(tick));
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"20\">{}</text>", kLeft, escape_html(plot.title));
  svg += fmt::format("<text class=\"label\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 8, escape_html(plot.x_label));
  svg += fmt::format(
      "<text class=\"label\" text-anchor=\"middle\" transform=\"translate(14 {}) rotate(-90)\">{}</text>",
      (kTop + kHeight - kBottom) / 2, escape_html(plot.y_label));
  return svg;
}

std::string marks(const Plot& plot, const PlotSeries& series, const Axis& x, const Axis& y) {
  std::string path;
  std::string dots;
  for (const PlotPoint& point : series.points) {
    if (!x.shows(point.x) || !y.shows(point.y)) continue;
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.pixel(point.x), y.pixel(point.y));
    if (plot.mark != PlotMark::line)
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}: {:.4g}, {:.4g}</title></circle>",
          x.pixel(point.x), y.pixel(point.y), escape_html(series.name), point.x, point.y);
  }
  std::string svg;
  if (plot.mark != PlotMark::dots)
    svg += fmt::format("<path d=\"{}\"><title>{}</title></path>", path, escape_html(series.name));
  if (plot.mark == PlotMark::line_and_dots && !series.points.empty()) {
    const PlotPoint& last = series.points.back();
    svg += fmt::format("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                       x.pixel(last.x) - 6, y.pixel(last.y) - 6, escape_html(series.name));
  }
  return svg + dots;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string draw(const Plot& plot) {
  Axis x(plot.x_scale, kLeft, kWidth - kRight);
  Axis y(AxisScale::linear, kHeight - kBottom, kTop);
  bool any = false;
  for (const PlotSeries& series : plot.series)
    for (const PlotPoint& point : series.points) {
      if (!x.shows(point.x) || !y.shows(point.y)) continue;
      any = true;
      x.include(point.x);
      y.include(point.y);
    }
  if (!any) return "";
  x.settle();
  y.settle();
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
                                escape_html(plot.title));
  svg += grid(plot, x, y);
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    svg += fmt::format("<g class=\"s{}\">{}</g>", i % kNumColours, marks(plot, plot.series[i], x, y));
  return svg + "</svg>";
}

}  // namespace kvasir::bench
