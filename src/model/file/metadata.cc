#include "model/file/metadata.h"

#include <utility>

namespace kvasir::model {

bool Metadata::add(std::string_view key, MetadataValue value) {
  return values_.emplace(key, std::move(value)).second;
}

template <class T>
const T* Metadata::find(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : std::get_if<T>(&it->second);
}

std::optional<bool> Metadata::boolean(std::string_view key) const {
  const auto* value = find<bool>(key);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> Metadata::integer(std::string_view key) const {
  const auto* value = find<std::int64_t>(key);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<double> Metadata::number(std::string_view key) const {
  if (const auto* value = find<double>(key)) return *value;
  const auto* value = find<std::int64_t>(key);
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

std::optional<std::string_view> Metadata::string(std::string_view key) const {
  const auto* value = find<std::string_view>(key);
  return value ? std::optional(*value) : std::nullopt;
}

const std::vector<std::string_view>* Metadata::strings(std::string_view key) const {
  return find<std::vector<std::string_view>>(key);
}

const std::vector<std::int64_t>* Metadata::integers(std::string_view key) const {
  return find<std::vector<std::int64_t>>(key);
}

const std::vector<double>* Metadata::numbers(std::string_view key) const {
  return find<std::vector<double>>(key);
}

}  // namespace kvasir::model
