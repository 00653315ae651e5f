#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvasir::bench {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
};

enum class PlotMark { line, line_and_dots, dots };
enum class AxisScale { linear, logarithmic };

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  PlotMark mark = PlotMark::line;
  AxisScale x_scale = AxisScale::linear;
  std::vector<PlotSeries> series;
};

// Returns an <svg> element, or "" if there is nothing to draw. Series number n has the class s<n mod 8>,
// which the page's style colours. On a logarithmic axis, points at or below 0 are left out.
std::string draw(const Plot& plot);

std::string escape_html(std::string_view text);

}  // namespace kvasir::bench
