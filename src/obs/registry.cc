#include "obs/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include "base/check.h"

namespace kvasir::obs {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front()))) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
}

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

// The labels as text: a="b",c="d".
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

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void append_sample(std::string& out, const std::string& name, const std::string& labels,
                   const std::string& value) {
  out += name;
  if (!labels.empty()) out += '{' + labels + '}';
  out += ' ' + value + '\n';
}

void append_histogram(std::string& out, const std::string& name, const std::string& labels,
                      const Histogram& histogram) {
  const std::vector<std::uint64_t> counts = histogram.counts();
  const std::string separator = labels.empty() ? "" : ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string bound = i < histogram.bounds().size() ? text_of(histogram.bounds()[i]) : "+Inf";
    append_sample(out, name + "_bucket", fmt::format("{}{}le=\"{}\"", labels, separator, bound),
                  fmt::format("{}", total));
  }
  append_sample(out, name + "_sum", labels, text_of(histogram.sum()));
  append_sample(out, name + "_count", labels, fmt::format("{}", total));
}

}  // namespace

Observation::Observation(Observation&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)),
      family_(std::move(other.family_)),
      series_(std::move(other.series_)) {}

Observation& Observation::operator=(Observation&& other) noexcept {
  std::swap(registry_, other.registry_);
  std::swap(family_, other.family_);
  std::swap(series_, other.series_);
  return *this;
}

Observation::~Observation() {
  if (registry_ != nullptr) registry_->forget(family_, series_);
}

Registry::Series& Registry::series(const std::lock_guard<std::mutex>&, const Name& name, Kind kind,
                                   const Labels& labels) {
  CHECK(is_name(name.text), "'{}' is no metric name", name.text);
  for (const auto& label : labels) CHECK(is_name(label.first), "'{}' is no label name", label.first);
  const auto [found, is_new] = families_.try_emplace(name.text);
  Family& family = found->second;
  if (is_new) {
    family.help = name.help;
    family.kind = kind;
  }
  CHECK(family.kind == kind, "{} is two kinds of metric", name.text);
  Series& series = family.series[text_of(labels)];
  series.labels = labels;
  return series;
}

Counter& Registry::counter(const Name& name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, Kind::counter, labels);
  CHECK(!s.read, "{} is already observed", name.text);
  if (!s.counter) s.counter = std::make_unique<Counter>();
  return *s.counter;
}

Gauge& Registry::gauge(const Name& name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, Kind::gauge, labels);
  CHECK(!s.read, "{} is already observed", name.text);
  if (!s.gauge) s.gauge = std::make_unique<Gauge>();
  return *s.gauge;
}

Histogram& Registry::histogram(const Name& name, const std::vector<double>& bounds, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, Kind::histogram, labels);
  if (s.histogram) return *s.histogram;
  const std::vector<double>* shared = &bounds;
  for (const auto& [text, other] : families_.at(name.text).series) {
    if (other.histogram) shared = &other.histogram->bounds();
  }
  s.histogram = std::make_unique<Histogram>(*shared);
  return *s.histogram;
}

Observation Registry::observe(const Name& name, Kind kind, const Labels& labels,
                              std::function<double()> read) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, kind, labels);
  CHECK(!s.read && !s.counter && !s.gauge, "{}{{{}}} exists already", name.text, text_of(labels));
  s.read = std::move(read);
  return Observation(this, name.text, text_of(labels));
}

Observation Registry::observe_gauge(const Name& name, const Labels& labels, std::function<double()> read) {
  return observe(name, Kind::gauge, labels, std::move(read));
}

Observation Registry::observe_counter(const Name& name, const Labels& labels, std::function<double()> read) {
  return observe(name, Kind::counter, labels, std::move(read));
}

void Registry::forget(const std::string& family, const std::string& series) {
  const std::lock_guard lock(mutex_);
  const auto found = families_.find(family);
  CHECK(found != families_.end(), "an observation of nothing");
  found->second.series.erase(series);
  if (found->second.series.empty()) families_.erase(found);
}

void Registry::append(std::string& out, const std::string& name, const Family& family) {
  static constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
  out += "# HELP " + name + ' ';
  append_escaped(out, family.help, Quotes::keep);
  fmt::format_to(std::back_inserter(out), "\n# TYPE {} {}\n", name, kKinds[static_cast<int>(family.kind)]);
  for (const auto& [labels, series] : family.series) {
    if (series.histogram) {
      append_histogram(out, name, labels, *series.histogram);
    } else if (series.counter) {
      append_sample(out, name, labels, fmt::format("{}", series.counter->value()));
    } else {
      append_sample(out, name, labels, text_of(series.gauge ? series.gauge->value() : series.read()));
    }
  }
}

std::string Registry::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, family] : families_) append(out, name, family);
  return out;
}

}  // namespace kvasir::obs
