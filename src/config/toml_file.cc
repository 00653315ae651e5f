#include "config/toml_file.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/edit_distance.h"
#include "config/price_table.h"
#include "config/setting_table.h"
#include "config/tier_table.h"
#include "config/toml_library.h"
#include "config/tool_table.h"
#include "config/upstream_table.h"

namespace kvasir::config {
namespace {

using base::ErrorCode;

std::string nearest_setting(std::string_view key) {
  std::string nearest;
  std::size_t best = SIZE_MAX;
  for_each_setting(Settings{}, [&](const auto& row, const auto&) {
    const std::size_t distance = base::edit_distance(key, row.name);
    if (distance >= best) return;
    best = distance;
    nearest = row.name;
  });
  return nearest;
}

// Returns the value as text if it has the setting's type, nothing otherwise.
std::optional<std::vector<std::string>> texts_of(const toml::node& node, const std::string&) {
  if (const auto* text = node.as_string()) return {{text->get()}};
  return std::nullopt;
}
std::optional<std::vector<std::string>> texts_of(const toml::node& node, bool) {
  if (const auto* flag = node.as_boolean()) return {{text_of(flag->get())}};
  return std::nullopt;
}
std::optional<std::vector<std::string>> texts_of(const toml::node& node, std::int64_t) {
  if (const auto* whole = node.as_integer()) return {{fmt::format("{}", whole->get())}};
  return std::nullopt;
}
std::optional<std::vector<std::string>> texts_of(const toml::node& node, int) {
  return texts_of(node, std::int64_t{});
}
std::optional<std::vector<std::string>> texts_of(const toml::node& node, double) {
  if (const auto* number = node.as_floating_point()) return {{fmt::format("{}", number->get())}};
  return texts_of(node, std::int64_t{});
}
std::optional<std::vector<std::string>> texts_of(const toml::node& node, const StringList&) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return texts_of(node, std::string());
  std::vector<std::string> texts;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return std::nullopt;
    texts.push_back(text->get());
  }
  return texts;
}

std::string_view kind_of(const std::string&) {
  return "a string";
}
std::string_view kind_of(bool) {
  return "true or false";
}
std::string_view kind_of(std::int64_t) {
  return "a whole number";
}
std::string_view kind_of(int) {
  return "a whole number";
}
std::string_view kind_of(double) {
  return "a number";
}
std::string_view kind_of(const StringList&) {
  return "an array of strings";
}

base::Result<std::vector<std::string>> value_of(std::string_view key, const toml::node& node) {
  base::Result<std::vector<std::string>> result = base::error(
      ErrorCode::invalid_argument, "'{}' is not a setting; did you mean '{}'?", key, nearest_setting(key));
  for_each_setting(Settings{}, [&](const auto& row, const auto& field) {
    if (row.name != key) return;
    if (auto texts = texts_of(node, field)) {
      result = std::move(*texts);
    } else {
      result = base::error(ErrorCode::invalid_argument, "{}: expected {}", key, kind_of(field));
    }
  });
  return result;
}

}  // namespace

base::Result<TomlFile> read_toml(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf())) {
    return base::error(ErrorCode::not_found, "cannot read the settings file {}", path);
  }
  const toml::parse_result parsed = toml::parse(bytes.str(), path);
  if (!parsed) {
    return base::error(ErrorCode::invalid_argument, "{}:{}: {}", path, parsed.error().source().begin.line,
                       parsed.error().description());
  }
  TomlFile file;
  for (const auto& [key, node] : parsed.table()) {
    const auto line = key.source().begin.line;
    if (key.str() == "tools") {
      TRY(file.tools, read_tool_table(node, path));
      continue;
    }
    if (key.str() == "tiers") {
      TRY(file.tiers, read_tier_table(node, path));
      continue;
    }
    if (key.str() == "prices") {
      TRY(file.prices, read_price_table(node, path));
      continue;
    }
    if (key.str() == "upstream") {
      TRY(file.upstreams, read_upstream_table(node, path));
      continue;
    }
    auto texts = value_of(key.str(), node);
    if (!texts.ok()) {
      return base::error(ErrorCode::invalid_argument, "{}:{}: {}", path, line, texts.error().message);
    }
    file.entries[std::string(key.str())] = {std::move(*texts), static_cast<int>(line)};
  }
  return file;
}

}  // namespace kvasir::config
