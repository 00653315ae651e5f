#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "obs/exposition.h"
#include "obs/metric.h"

namespace kvasir::obs {

// A metric's name and the sentence that explains it. Names follow Prometheus: counters end in _total, and
// base units are part of the name (_seconds, _bytes).
struct Name {
  Name(std::string text_in, std::string help_in) : text(std::move(text_in)), help(std::move(help_in)) {}
  std::string text;
  std::string help;
};

class Registry;

// One of several values that are read together.
struct Sample {
  Sample(Labels labels_in, double value_in) : labels(std::move(labels_in)), value(value_in) {}
  Labels labels;  // in addition to the labels that all samples share
  double value;
};
using ReadSamples = std::function<std::vector<Sample>()>;

// A metric whose value is read when the metrics are. Once this object is destroyed, its function is never
// called again.
class Observation {
 public:
  Observation() = default;
  Observation(Observation&& other) noexcept;
  Observation& operator=(Observation&& other) noexcept;
  ~Observation();

 private:
  friend class Registry;
  Observation(Registry* registry, std::string family, std::string series)
      : registry_(registry), family_(std::move(family)), series_(std::move(series)) {}
  Registry* registry_ = nullptr;
  std::string family_;
  std::string series_;
};

// All metrics of a process, in Prometheus's format. Thread-safe. The objects that it returns live as long as
// the registry; callers should keep the reference, since finding a series takes a lock. Label values must
// come from a small set (a served model, a status), never from a client. Asking for one name as two kinds is
// a bug.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The same name and labels give the same object.
  Counter& counter(const Name& name, const Labels& labels = {});
  Gauge& gauge(const Name& name, const Labels& labels = {});
  // All series of one name have the bounds of the first one.
  Histogram& histogram(const Name& name, const std::vector<double>& bounds, const Labels& labels = {});

  // A gauge or counter whose value comes from `read`, which is called on the thread that asks for the text.
  // It must not call the registry. There may be one observation per series.
  [[nodiscard]] Observation observe_gauge(const Name& name, const Labels& labels,
                                          std::function<double()> read);
  [[nodiscard]] Observation observe_counter(const Name& name, const Labels& labels,
                                            std::function<double()> read);
  // As above, for several series of one name. They share `labels`, and may differ at each reading.
  [[nodiscard]] Observation observe_gauges(const Name& name, const Labels& labels, ReadSamples read);
  [[nodiscard]] Observation observe_counters(const Name& name, const Labels& labels, ReadSamples read);

  // All metrics in the order of their names.
  std::string text(Format format = Format::prometheus) const;

 private:
  friend class Observation;
  struct Series {
    Labels labels;
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
    std::function<double()> read;
    ReadSamples read_all;

    bool has_source() const { return counter || gauge || histogram || read || read_all; }
  };
  struct Family {
    std::string help;
    Kind kind = Kind::gauge;
    std::map<std::string, Series> series;  // by the labels' text
  };

  // `lock` shows that the caller holds the mutex.
  Series& series(const std::lock_guard<std::mutex>& lock, const Name& name, Kind kind, const Labels& labels);
  Observation observe(const Name& name, Kind kind, const Labels& labels, std::function<double()> read);
  Observation observe_all(const Name& name, Kind kind, const Labels& labels, ReadSamples read);
  void forget(const std::string& family, const std::string& series);
  static void append(Exposition& out, const std::string& name, const Family& family);

  mutable std::mutex mutex_;
  std::map<std::string, Family> families_;  // guarded by mutex_
};

}  // namespace kvasir::obs
