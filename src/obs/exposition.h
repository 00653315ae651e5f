#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "obs/metric.h"

namespace kvasir::obs {

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class Format : std::uint8_t {
  prometheus,   // text exposition 0.0.4
  openmetrics,  // 1.0.0, which has exemplars
};
std::string_view content_type(Format format);
// The format that an Accept header asks for: OpenMetrics if it is named, else Prometheus's.
Format format_for(std::string_view accept);

enum class Kind : std::uint8_t { counter, gauge, histogram };

// The labels as text: a="b",c="d".
std::string text_of(const Labels& labels);

// Writes metrics as text, family by family.
class Exposition {
 public:
  explicit Exposition(Format format) : format_(format) {}

  // Begins a family: the samples that follow belong to it. A counter's name ends in _total.
  void begin_family(const std::string& name, const std::string& help, Kind kind);
  // `labels` has the format of text_of.
  void sample(std::string_view labels, double value);
  void sample(std::string_view labels, std::uint64_t count);
  void histogram(const std::string& labels, const Histogram& histogram);
  // Returns the text. Call nothing else afterwards.
  std::string finish();

 private:
  void append(std::string_view suffix, std::string_view labels, std::string_view value);
  void append_exemplar(const Exemplar& exemplar);
  std::string bound_text(const Histogram& histogram, std::size_t range) const;

  const Format format_;
  std::string out_;
  std::string name_;  // of the family
};

}  // namespace kvasir::obs
