#include "obs/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/check.h"

namespace kvasir::obs {
namespace {

enum class Quotes { keep, escape };

void append_escaped(std::string& out, std::string_view text, Quotes quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes == Quotes::escape) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string_view content_type(Format format) {
  return format == Format::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8";
}

Format format_for(std::string_view accept) {
  return accept.find("application/openmetrics-text") == std::string_view::npos ? Format::prometheus
                                                                               : Format::openmetrics;
}

std::string text_of(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out += name;
    out += "=\"";
    append_escaped(out, value, Quotes::escape);
    out += '"';
  }
  return out;
}

void Exposition::begin_family(const std::string& name, const std::string& help, Kind kind) {
  static constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
  name_ = name;
  std::string_view shown = name_;
  if (kind == Kind::counter) {
    CHECK(shown.ends_with("_total"), "the counter {} does not end in _total", shown);
    // OpenMetrics leaves the suffix out of the family's name; only the samples have it.
    if (format_ == Format::openmetrics) shown.remove_suffix(std::string_view("_total").size());
  }
  fmt::format_to(std::back_inserter(out_), "# HELP {} ", shown);
  append_escaped(out_, help, format_ == Format::openmetrics ? Quotes::escape : Quotes::keep);
  fmt::format_to(std::back_inserter(out_), "\n# TYPE {} {}\n", shown, kKinds[static_cast<int>(kind)]);
}

void Exposition::append(std::string_view suffix, std::string_view labels, std::string_view value) {
  out_ += name_;
  out_ += suffix;
  if (!labels.empty()) {
    out_ += '{';
    out_ += labels;
    out_ += '}';
  }
  out_ += ' ';
  out_ += value;
}

void Exposition::sample(std::string_view labels, double value) {
  append("", labels, text_of(value));
  out_ += '\n';
}

void Exposition::sample(std::string_view labels, std::uint64_t count) {
  append("", labels, fmt::format_int(count).c_str());
  out_ += '\n';
}

// OpenMetrics requires bounds to be floats: 1.0, not 1.
std::string Exposition::bound_text(const Histogram& histogram, std::size_t range) const {
  if (range == histogram.bounds().size()) return "+Inf";
  std::string text = text_of(histogram.bounds()[range]);
  if (format_ == Format::openmetrics && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void Exposition::append_exemplar(const Exemplar& exemplar) {
  if (exemplar.trace_id.empty()) return;
  out_ += " # {trace_id=\"";
  append_escaped(out_, exemplar.trace_id, Quotes::escape);
  fmt::format_to(std::back_inserter(out_), "\"}} {} {:.3f}", exemplar.value, exemplar.at_s);
}

void Exposition::histogram(const std::string& labels, const Histogram& histogram) {
  const std::vector<std::uint64_t> counts = histogram.counts();
  const std::vector<Exemplar> exemplars =
      format_ == Format::openmetrics ? histogram.exemplars() : std::vector<Exemplar>();
  const std::string prefix = labels.empty() ? "le=\"" : labels + ",le=\"";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    append("_bucket", prefix + bound_text(histogram, i) + '"', fmt::format_int(total).c_str());
    if (i < exemplars.size()) append_exemplar(exemplars[i]);
    out_ += '\n';
  }
  append("_sum", labels, text_of(histogram.sum()));
  out_ += '\n';
  append("_count", labels, fmt::format_int(total).c_str());
  out_ += '\n';
}

std::string Exposition::finish() {
  if (format_ == Format::openmetrics) out_ += "# EOF\n";
  return std::move(out_);
}

}  // namespace kvasir::obs
