#include "obs/registry.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"

namespace kvasir::obs {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front()))) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
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
  const auto [found, is_new] = families_.try_emplace(name.text);
  Family& family = found->second;
  if (is_new) {
    CHECK(is_name(name.text), "'{}' is no metric name", name.text);
    family.help = name.help;
    family.kind = kind;
  }
  CHECK(family.kind == kind, "{} is two kinds of metric", name.text);
  const auto [row, is_new_row] = family.series.try_emplace(text_of(labels));
  if (is_new_row) {
    for (const auto& label : labels) CHECK(is_name(label.first), "'{}' is no label name", label.first);
    row->second.labels = labels;
  }
  return row->second;
}

Counter& Registry::counter(const Name& name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, Kind::counter, labels);
  CHECK(s.counter || !s.has_source(), "{} is already observed", name.text);
  if (!s.counter) s.counter = std::make_unique<Counter>();
  return *s.counter;
}

Gauge& Registry::gauge(const Name& name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, Kind::gauge, labels);
  CHECK(s.gauge || !s.has_source(), "{} is already observed", name.text);
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
  CHECK(!s.has_source(), "{}{{{}}} exists already", name.text, text_of(labels));
  s.read = std::move(read);
  return Observation(this, name.text, text_of(labels));
}

Observation Registry::observe_all(const Name& name, Kind kind, const Labels& labels, ReadSamples read) {
  const std::lock_guard lock(mutex_);
  Series& s = series(lock, name, kind, labels);
  CHECK(!s.has_source(), "{}{{{}}} exists already", name.text, text_of(labels));
  s.read_all = std::move(read);
  return Observation(this, name.text, text_of(labels));
}

Observation Registry::observe_gauges(const Name& name, const Labels& labels, ReadSamples read) {
  return observe_all(name, Kind::gauge, labels, std::move(read));
}

Observation Registry::observe_counters(const Name& name, const Labels& labels, ReadSamples read) {
  return observe_all(name, Kind::counter, labels, std::move(read));
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

void Registry::append(Exposition& out, const std::string& name, const Family& family) {
  out.begin_family(name, family.help, family.kind);
  for (const auto& [labels, series] : family.series) {
    if (series.histogram) {
      out.histogram(labels, *series.histogram);
    } else if (series.counter) {
      out.sample(labels, series.counter->value());
    } else if (series.read_all) {
      for (Sample& sample : series.read_all()) {
        const std::string own = text_of(sample.labels);
        out.sample(labels.empty() || own.empty() ? labels + own : labels + ',' + own, sample.value);
      }
    } else {
      out.sample(labels, series.gauge ? series.gauge->value() : series.read());
    }
  }
}

std::string Registry::text(Format format) const {
  const std::lock_guard lock(mutex_);
  Exposition out(format);
  for (const auto& [name, family] : families_) append(out, name, family);
  return out.finish();
}

}  // namespace kvasir::obs
